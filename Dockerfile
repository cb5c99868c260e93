# One image for the server and the workers; docker-compose.yml sets the command of each.
#   docker build --build-arg EXTRAS=jax,torch -t tunix-rt .
FROM node:24-slim AS web
WORKDIR /opt/tunix-rt
COPY frontend frontend
RUN cd frontend && npm ci --no-fund --no-audit && npm run build

FROM python:3.12-slim

# Extras to install with the server: jax trains on a CPU, cuda on NVIDIA GPUs; see docs/operations.md.
ARG EXTRAS=jax,math,parquet,tune

WORKDIR /opt/tunix-rt
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY backend/tunix_rt backend/tunix_rt
COPY --from=web /opt/tunix-rt/backend/tunix_rt/web backend/tunix_rt/web
RUN pip install --no-cache-dir -c constraints.txt ".[${EXTRAS}]" \
    && useradd --uid 1000 --create-home tunix \
    && install --directory --owner tunix --group tunix /data

USER tunix
ENV TUNIX_RT_HOME=/data \
    PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["tunix-rt"]
CMD ["up"]
