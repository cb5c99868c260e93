"""`env_snapshot.txt`, `gpu_snapshot.txt` and `requirements.lock.txt`: what environment.json says, to read."""

from tunix_rt.engines.training.types import RunEnvironment

_GIB = 1 << 30


def environment_text(environment: RunEnvironment) -> str:
    """Python, system, code and packages."""
    code = [
        f"commit      {environment.commit or 'not from a git checkout'}",
        f"changes     {_changes(environment)}",
        f"code        sha256 {environment.code_sha256 or 'not recorded'}",
    ]
    head = [
        f"python      {environment.python}",
        f"platform    {environment.platform}",
        f"cpus        {environment.num_cpus}",
        f"engine      {environment.engine}",
    ]
    packages = [f"{name}=={version}" for name, version in environment.packages.items()]
    variables = [f"{name}={value}" for name, value in environment.variables.items()]
    return _sections(
        {"": head + code, "packages that decide the numbers": packages, "environment variables": variables}
    )


def devices_text(environment: RunEnvironment) -> str:
    """The devices, their memory and their driver."""
    memory = environment.device_memory_bytes
    size = "not reported" if memory is None else f"{memory / _GIB:.2f} GiB ({memory} bytes)"
    lines = [
        f"chosen            {environment.device}",
        f"devices           {len(environment.devices)}",
        *(f"                  {name}" for name in environment.devices),
        f"memory of each    {size}",
        f"NVIDIA driver     {environment.driver or 'no NVIDIA driver on this machine'}",
    ]
    return _sections({"": lines})


def lock_text(environment: RunEnvironment) -> str | None:
    """Every installed package as pip takes it; None where the run did not write them down."""
    if not environment.installed:
        return None
    return "".join(f"{name}=={version}\n" for name, version in environment.installed.items())


def _changes(environment: RunEnvironment) -> str:
    if environment.is_dirty is None:
        return "an installed package"
    return "uncommitted, see code.diff" if environment.is_dirty else "no uncommitted ones"


def _sections(sections: dict[str, list[str]]) -> str:
    parts = []
    for title, lines in sections.items():
        if lines:
            parts.append("\n".join([f"# {title}", *lines] if title else lines) + "\n")
    return "\n".join(parts)
