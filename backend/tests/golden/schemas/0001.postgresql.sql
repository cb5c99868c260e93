CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.trace_bodies (
    pk bigint NOT NULL,
    canonical text NOT NULL
);
CREATE TABLE public.trace_index (
    pk bigint NOT NULL,
    tokens tsvector NOT NULL
)
WITH (toast_tuple_target='128');
ALTER TABLE ONLY public.trace_index ALTER COLUMN tokens SET STORAGE EXTERNAL;
CREATE TABLE public.trace_lint_codes (
    code character varying(64) NOT NULL,
    pk bigint NOT NULL
);
CREATE TABLE public.trace_reports (
    pk bigint NOT NULL,
    scored_at timestamp with time zone NOT NULL,
    report text NOT NULL
);
CREATE TABLE public.traces (
    pk bigint NOT NULL,
    id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    trace_version character varying(64) NOT NULL,
    prompt_start character varying(200) NOT NULL,
    num_steps integer NOT NULL,
    source character varying(256),
    score double precision,
    linter_version character varying(64)
);
CREATE SEQUENCE public.traces_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.traces_pk_seq OWNED BY public.traces.pk;
ALTER TABLE ONLY public.traces ALTER COLUMN pk SET DEFAULT nextval('public.traces_pk_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0001');
INSERT INTO public.trace_bodies VALUES (1, '{"final_answer":"5","meta":{"level":3,"source":"sums"},"prompt":"Wie viele Äpfel?","steps":[{"content":"2 + 3 = 5","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO public.trace_bodies VALUES (2, '{"final_answer":"6","meta":{"level":3,"source":"sums"},"prompt":"Isn''t it wrong?","steps":[{"content":"2 + 3 = 6","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO public.trace_bodies VALUES (3, '{"final_answer":"5","meta":{},"prompt":"Is this one unscored?","steps":[{"content":"2 + 3 = 5","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO public.trace_index VALUES (1, '''2'' ''3'' ''5'' ''viele'' ''wie'' ''äpfel'' ''21d847c961f7a71c'' ''5c1b62b7d7de9831''');
INSERT INTO public.trace_index VALUES (2, '''2'' ''3'' ''6'' ''isn'' ''it'' ''t'' ''wrong'' ''21d847c961f7a71c'' ''5c1b62b7d7de9831''');
INSERT INTO public.trace_index VALUES (3, '''2'' ''3'' ''5'' ''is'' ''one'' ''this'' ''unscored''');
INSERT INTO public.trace_lint_codes VALUES ('arithmetic-wrong', 2);
INSERT INTO public.trace_reports VALUES (1, '2026-11-15 15:43:48.923594+00', '{"linter_version":"1.0","score":100.0,"components":{"arithmetic":1.0,"answer":1.0,"grounding":1.0,"substance":1.0,"safety":1.0},"findings":[]}');
INSERT INTO public.trace_reports VALUES (2, '2026-11-15 15:43:48.99835+00', '{"linter_version":"1.0","score":15.0,"components":{"arithmetic":0.5,"answer":1.0,"grounding":0.3,"substance":1.0,"safety":1.0},"findings":[{"code":"arithmetic-wrong","step":0,"span":[8,9],"found":"6","expected":"5"}]}');
INSERT INTO public.traces VALUES (1, 'd193ccb3-bf8d-8e43-8b5b-1edb8f659464', '2025-01-31 12:00:00+00', '1.0', 'Wie viele Äpfel?', 1, 'sums', 100, '1.0');
INSERT INTO public.traces VALUES (2, '6d9ea02c-24cc-85cc-832a-30d9002c2ecd', '2025-01-31 12:00:00+00', '1.0', 'Isn''t it wrong?', 1, 'sums', 15, '1.0');
INSERT INTO public.traces VALUES (3, '93d5bd45-c945-86d7-8419-5984a65cc613', '2025-01-31 12:00:00+00', '1.0', 'Is this one unscored?', 1, NULL, NULL, NULL);
SELECT pg_catalog.setval('public.traces_pk_seq', 3, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.trace_bodies
    ADD CONSTRAINT trace_bodies_pkey PRIMARY KEY (pk);
ALTER TABLE ONLY public.trace_index
    ADD CONSTRAINT trace_index_pkey PRIMARY KEY (pk);
ALTER TABLE ONLY public.trace_lint_codes
    ADD CONSTRAINT trace_lint_codes_pkey PRIMARY KEY (code, pk);
ALTER TABLE ONLY public.trace_reports
    ADD CONSTRAINT trace_reports_pkey PRIMARY KEY (pk);
ALTER TABLE ONLY public.traces
    ADD CONSTRAINT traces_id_key UNIQUE (id);
ALTER TABLE ONLY public.traces
    ADD CONSTRAINT traces_pkey PRIMARY KEY (pk);
CREATE INDEX ix_trace_index_tokens ON public.trace_index USING gin (tokens);
CREATE INDEX ix_trace_lint_codes_pk ON public.trace_lint_codes USING btree (pk);
CREATE INDEX ix_traces_score ON public.traces USING btree (score, pk);
ALTER TABLE ONLY public.trace_bodies
    ADD CONSTRAINT trace_bodies_pk_fkey FOREIGN KEY (pk) REFERENCES public.traces(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.trace_index
    ADD CONSTRAINT trace_index_pk_fkey FOREIGN KEY (pk) REFERENCES public.traces(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.trace_lint_codes
    ADD CONSTRAINT trace_lint_codes_pk_fkey FOREIGN KEY (pk) REFERENCES public.traces(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.trace_reports
    ADD CONSTRAINT trace_reports_pk_fkey FOREIGN KEY (pk) REFERENCES public.traces(pk) ON DELETE CASCADE;
