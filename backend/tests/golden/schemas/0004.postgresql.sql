CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.api_tokens (
    pk bigint NOT NULL,
    id character varying(32) NOT NULL,
    name text NOT NULL,
    scope character varying(16) NOT NULL,
    token_hash character varying(64) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone
);
CREATE SEQUENCE public.api_tokens_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.api_tokens_pk_seq OWNED BY public.api_tokens.pk;
CREATE TABLE public.baselines (
    name character varying(128) NOT NULL,
    evaluation_pk bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    rule text NOT NULL
);
CREATE TABLE public.evaluations (
    pk bigint NOT NULL,
    id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    evalset text NOT NULL,
    fingerprint character varying(64) NOT NULL,
    model_name text NOT NULL,
    run_id text,
    base_model text,
    dataset text,
    recipe text,
    primary_score double precision,
    summary text NOT NULL,
    record text NOT NULL
);
CREATE SEQUENCE public.evaluations_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.evaluations_pk_seq OWNED BY public.evaluations.pk;
CREATE TABLE public.gate_checks (
    pk bigint NOT NULL,
    baseline character varying(128) NOT NULL,
    checked_at timestamp with time zone NOT NULL,
    record text NOT NULL
);
CREATE SEQUENCE public.gate_checks_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.gate_checks_pk_seq OWNED BY public.gate_checks.pk;
CREATE TABLE public.model_aliases (
    model_pk bigint NOT NULL,
    alias character varying(64) NOT NULL,
    version_pk bigint NOT NULL,
    moved_at timestamp with time zone NOT NULL
);
CREATE TABLE public.model_tags (
    version_pk bigint NOT NULL,
    name character varying(64) NOT NULL,
    value text NOT NULL
);
CREATE TABLE public.model_versions (
    pk bigint NOT NULL,
    id uuid NOT NULL,
    model_pk bigint NOT NULL,
    version integer NOT NULL,
    label character varying(64),
    kind character varying(16) NOT NULL,
    content_hash character varying(64) NOT NULL,
    size_bytes bigint NOT NULL,
    num_files integer NOT NULL,
    source_run_id character varying(128),
    source_step integer,
    base_model text,
    dataset text,
    notes text NOT NULL,
    record text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.model_versions_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.model_versions_pk_seq OWNED BY public.model_versions.pk;
CREATE TABLE public.models (
    pk bigint NOT NULL,
    id uuid NOT NULL,
    name character varying(256) NOT NULL,
    description text,
    task_type character varying(64),
    last_version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.models_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.models_pk_seq OWNED BY public.models.pk;
CREATE TABLE public.predictions (
    evaluation_pk bigint NOT NULL,
    "position" integer NOT NULL,
    item_id character varying(128) NOT NULL,
    sample integer NOT NULL,
    verdict character varying(16) NOT NULL,
    section character varying(64) NOT NULL,
    category character varying(64) NOT NULL,
    difficulty character varying(64) NOT NULL,
    rule character varying(32),
    searched text NOT NULL,
    record text NOT NULL
);
CREATE TABLE public.run_events (
    run_pk bigint NOT NULL,
    sequence integer NOT NULL,
    "time" timestamp with time zone NOT NULL,
    kind character varying(32) NOT NULL,
    message text NOT NULL,
    details text NOT NULL
);
CREATE TABLE public.runs (
    pk bigint NOT NULL,
    id character varying(128) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    status character varying(16) NOT NULL,
    priority integer NOT NULL,
    is_held boolean NOT NULL,
    not_before timestamp with time zone,
    recipe_name text NOT NULL,
    model text NOT NULL,
    dataset text NOT NULL,
    mode character varying(16) NOT NULL,
    engine character varying(16) NOT NULL,
    device character varying(16) NOT NULL,
    executor character varying(16) NOT NULL,
    sweep_id character varying(64),
    request text NOT NULL,
    recipe text NOT NULL,
    plan text,
    num_attempts integer NOT NULL,
    num_failures integer NOT NULL,
    worker_id character varying(64),
    lease character varying(32),
    beats integer NOT NULL,
    queued_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    exit_code integer,
    failure text,
    figures text,
    num_events integer NOT NULL
);
CREATE SEQUENCE public.runs_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.runs_pk_seq OWNED BY public.runs.pk;
CREATE TABLE public.service_flags (
    name character varying(64) NOT NULL,
    value text NOT NULL,
    changed_at timestamp with time zone NOT NULL
);
CREATE TABLE public.sweep_journal (
    sweep_pk bigint NOT NULL,
    sequence integer NOT NULL,
    record text NOT NULL
);
CREATE TABLE public.sweep_trials (
    sweep_pk bigint NOT NULL,
    number integer NOT NULL,
    run_id character varying(128),
    params text NOT NULL,
    status character varying(16) NOT NULL,
    value double precision,
    error text,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone
);
CREATE TABLE public.sweeps (
    pk bigint NOT NULL,
    id character varying(64) NOT NULL,
    name text NOT NULL,
    status character varying(16) NOT NULL,
    spec text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    best_run_id character varying(128),
    failure text,
    worker_id character varying(64)
);
CREATE SEQUENCE public.sweeps_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.sweeps_pk_seq OWNED BY public.sweeps.pk;
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
CREATE TABLE public.workers (
    id character varying(64) NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    process_start character varying(64) NOT NULL,
    version character varying(64) NOT NULL,
    slots text NOT NULL,
    status character varying(16) NOT NULL,
    started_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    beats integer NOT NULL
);
ALTER TABLE ONLY public.api_tokens ALTER COLUMN pk SET DEFAULT nextval('public.api_tokens_pk_seq'::regclass);
ALTER TABLE ONLY public.evaluations ALTER COLUMN pk SET DEFAULT nextval('public.evaluations_pk_seq'::regclass);
ALTER TABLE ONLY public.gate_checks ALTER COLUMN pk SET DEFAULT nextval('public.gate_checks_pk_seq'::regclass);
ALTER TABLE ONLY public.model_versions ALTER COLUMN pk SET DEFAULT nextval('public.model_versions_pk_seq'::regclass);
ALTER TABLE ONLY public.models ALTER COLUMN pk SET DEFAULT nextval('public.models_pk_seq'::regclass);
ALTER TABLE ONLY public.runs ALTER COLUMN pk SET DEFAULT nextval('public.runs_pk_seq'::regclass);
ALTER TABLE ONLY public.sweeps ALTER COLUMN pk SET DEFAULT nextval('public.sweeps_pk_seq'::regclass);
ALTER TABLE ONLY public.traces ALTER COLUMN pk SET DEFAULT nextval('public.traces_pk_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0004');
INSERT INTO public.api_tokens VALUES (1, 'ci', 'CI', 'read', '0000000000000000000000000000000000000000000000000000000000000000', '2026-01-01 12:00:00+00', NULL, NULL, NULL);
INSERT INTO public.baselines VALUES ('main', 1, '2026-01-01 12:00:00+00', '{"alpha":0.05,"protected_sections":[],"protected_categories":[],"protected_items":[],"max_unscored":0.0}');
INSERT INTO public.evaluations VALUES (1, '296f6bda-b9b0-59ba-ab13-bf2b20b09fa6', '2026-01-01 12:00:00+00', 'exam', '8db4f60a98d5a48386131e1a48fbad4d1f7f05949ac561390c4c55c361618a81', 'model-a', NULL, NULL, NULL, NULL, 0.5, '{"evaluation_id":"296f6bda-b9b0-59ba-ab13-bf2b20b09fa6","created_at":"2026-01-01T12:00:00Z","model":{"name":"model-a","origin":"hub","weights":"pretrained","is_adapter":false},"evalset":"exam","evalset_hash":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee","fingerprint":"8db4f60a98d5a48386131e1a48fbad4d1f7f05949ac561390c4c55c361618a81","num_items":3,"num_scored":2,"num_unscored":1,"primary_score":0.5,"low":0.09453120463920085,"high":0.9054687953607992,"format_adherence":1.0}', '{"evaluation_version":"1","evaluation_id":"296f6bda-b9b0-59ba-ab13-bf2b20b09fa6","created_at":"2026-01-01T12:00:00Z","tunix_rt_version":"0.1.0","model":{"name":"model-a","origin":"hub","weights":"pretrained","is_adapter":false},"evalset":"exam","num_items":3,"protocol":{"evalset_hash":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee","template_hash":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc","markup":"reasoning","decoding":{"temperature":0.0,"top_p":1.0,"num_samples":1,"seed":0,"max_new_tokens":512},"extraction":{"rules":["answer-tag","boxed"],"lenient_rules":[]},"max_answer_chars":10000,"versions":{"extractor":"1","checker.number":"1"}},"fingerprint":"8db4f60a98d5a48386131e1a48fbad4d1f7f05949ac561390c4c55c361618a81","scores":{"primary_score":0.5,"overall":{"num_items":3,"num_predictions":3,"num_scored":2,"num_unscored":1,"num_no_answer":0,"num_lenient":0,"num_cut_off":0,"num_steps":2,"accuracy":{"value":0.5,"low":0.09453120463920085,"high":0.9054687953607992,"n":2,"method":"wilson"},"format_adherence":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson"},"reasoning_tokens":{"mean":7.0,"median":7.0,"p90":7.0,"n":2},"reasoning_steps":{"mean":1.0,"median":1.0,"p90":1.0,"n":2},"step_correctness":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson-by-item"},"right_by_wrong_work":{"value":0.0,"low":0.0,"high":0.7934506882081973,"n":1,"method":"wilson"},"pass_at":{},"majority_at":{}},"by_section":{"core":{"num_items":3,"num_predictions":3,"num_scored":2,"num_unscored":1,"num_no_answer":0,"num_lenient":0,"num_cut_off":0,"num_steps":2,"accuracy":{"value":0.5,"low":0.09453120463920085,"high":0.9054687953607992,"n":2,"method":"wilson"},"format_adherence":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson"},"reasoning_tokens":{"mean":7.0,"median":7.0,"p90":7.0,"n":2},"reasoning_steps":{"mean":1.0,"median":1.0,"p90":1.0,"n":2},"step_correctness":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson-by-item"},"right_by_wrong_work":{"value":0.0,"low":0.0,"high":0.7934506882081973,"n":1,"method":"wilson"},"pass_at":{},"majority_at":{}}},"by_category":{"addition":{"num_items":3,"num_predictions":3,"num_scored":2,"num_unscored":1,"num_no_answer":0,"num_lenient":0,"num_cut_off":0,"num_steps":2,"accuracy":{"value":0.5,"low":0.09453120463920085,"high":0.9054687953607992,"n":2,"method":"wilson"},"format_adherence":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson"},"reasoning_tokens":{"mean":7.0,"median":7.0,"p90":7.0,"n":2},"reasoning_steps":{"mean":1.0,"median":1.0,"p90":1.0,"n":2},"step_correctness":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson-by-item"},"right_by_wrong_work":{"value":0.0,"low":0.0,"high":0.7934506882081973,"n":1,"method":"wilson"},"pass_at":{},"majority_at":{}}},"by_difficulty":{"easy":{"num_items":3,"num_predictions":3,"num_scored":2,"num_unscored":1,"num_no_answer":0,"num_lenient":0,"num_cut_off":0,"num_steps":2,"accuracy":{"value":0.5,"low":0.09453120463920085,"high":0.9054687953607992,"n":2,"method":"wilson"},"format_adherence":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson"},"reasoning_tokens":{"mean":7.0,"median":7.0,"p90":7.0,"n":2},"reasoning_steps":{"mean":1.0,"median":1.0,"p90":1.0,"n":2},"step_correctness":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson-by-item"},"right_by_wrong_work":{"value":0.0,"low":0.0,"high":0.7934506882081973,"n":1,"method":"wilson"},"pass_at":{},"majority_at":{}}},"failures":{"prompt-too-long":1},"rules":{"answer-tag":2}},"predictions_hash":"64e0dc28dabf47dbc13215c7012261ec80a5c11e40514ed290c013a372a652f0"}');
INSERT INTO public.gate_checks VALUES (1, 'main', '2026-01-01 12:00:00+00', '{"checked_at":"2026-01-01T12:00:00Z","baseline_name":"main","baseline_evaluation_id":"01234567-89ab-8def-8123-456789abcdef","evaluation_id":"01234567-89ab-8def-8123-456789abcdef","model_name":"sums:1","run_id":null,"evalset":"eval_v2","passed":true,"reasons":[],"rule":{"alpha":0.05,"protected_sections":[],"protected_categories":[],"protected_items":[],"max_unscored":0.0},"overall":null}');
INSERT INTO public.model_aliases VALUES (1, 'champion', 1, '2026-11-15 22:04:22.329688+00');
INSERT INTO public.model_tags VALUES (1, 'stage', 'tried');
INSERT INTO public.model_versions VALUES (1, 'ba9f0bf9-2a4e-4860-8f5d-f9236acc705a', 1, 1, NULL, 'model', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 7000000000, 3, NULL, NULL, NULL, 'demo-v1', '', '{"markup":"reasoning","lineage":{"is_checkpoint":false,"dataset":"demo-v1"}}', '2026-11-15 22:04:22.265765+00');
INSERT INTO public.models VALUES (1, '55792184-0a12-4409-8e7e-26f99922a821', 'sums', 'Adds.', NULL, 1, '2026-11-15 22:04:22.174164+00', '2026-11-15 22:04:22.40461+00');
INSERT INTO public.predictions VALUES (1, 0, 'item-0', 0, 'correct', 'core', 'addition', 'easy', 'answer-tag', 'what is 9 + 9? (item-0)
18
<reasoning>
9 + 9 = 18
</reasoning>
<answer>18</answer>', '{"item_id":"item-0","sample":0,"prompt":"What is 9 + 9? (item-0)","expected_answer":"18","section":"core","category":"addition","difficulty":"easy","generation":{"item_id":"item-0","sample":0,"text":"<reasoning>\n9 + 9 = 18\n</reasoning>\n<answer>18</answer>","finish":"end-of-turn","num_prompt_tokens":7,"num_new_tokens":8,"num_reasoning_tokens":7},"judgement":{"verdict":"correct","is_well_formed":true,"steps":[{"text":"a confirmed step","verdict":"confirmed"}],"answer":"18","rule":"answer-tag","is_lenient":false,"explanation":"18 equals 18","canonical":"18"}}');
INSERT INTO public.predictions VALUES (1, 1, 'item-1', 0, 'wrong', 'core', 'addition', 'easy', 'answer-tag', 'what is 9 + 9? (item-1)
18
<reasoning>
9 + 9 = 18
</reasoning>
<answer>17</answer>', '{"item_id":"item-1","sample":0,"prompt":"What is 9 + 9? (item-1)","expected_answer":"18","section":"core","category":"addition","difficulty":"easy","generation":{"item_id":"item-1","sample":0,"text":"<reasoning>\n9 + 9 = 18\n</reasoning>\n<answer>17</answer>","finish":"end-of-turn","num_prompt_tokens":7,"num_new_tokens":8,"num_reasoning_tokens":7},"judgement":{"verdict":"wrong","is_well_formed":true,"steps":[{"text":"a confirmed step","verdict":"confirmed"}],"answer":"17","rule":"answer-tag","is_lenient":false,"explanation":"not 18","canonical":"17"}}');
INSERT INTO public.predictions VALUES (1, 2, 'item-2', 0, 'unscored', 'core', 'addition', 'easy', NULL, 'what is 9 + 9? (item-2)
18
', '{"item_id":"item-2","sample":0,"prompt":"What is 9 + 9? (item-2)","expected_answer":"18","section":"core","category":"addition","difficulty":"easy","generation":{"item_id":"item-2","sample":0,"num_prompt_tokens":0,"num_new_tokens":0,"num_reasoning_tokens":0,"failure":{"code":"prompt-too-long","detail":"700 tokens of 512"}},"judgement":{"verdict":"unscored","is_well_formed":false,"steps":[{"text":"a confirmed step","verdict":"confirmed"}],"is_lenient":false,"explanation":"the checker failed"}}');
INSERT INTO public.run_events VALUES (1, 0, '2026-11-15 22:04:22.015845+00', 'submitted', 'Submitted.', '{}');
INSERT INTO public.run_events VALUES (1, 1, '2026-11-15 22:04:22.093735+00', 'claimed', 'Taken by worker-a.', '{"worker_id": "worker-a", "attempt": 1}');
INSERT INTO public.run_events VALUES (1, 2, '2026-11-15 22:04:22.118046+00', 'started', 'The engine has begun.', '{"attempt": 1}');
INSERT INTO public.run_events VALUES (2, 0, '2026-11-15 22:04:22.138071+00', 'submitted', 'Submitted.', '{}');
INSERT INTO public.runs VALUES (1, 'taken', '2026-11-15 22:04:22.015845+00', 'running', 0, false, NULL, 'demo', 'tiny-llama', 'demo-v1', 'full', 'auto', 'auto', 'local', NULL, '{"recipe":"demo","overrides":[],"dataset":null,"name":null,"engine":"auto","device":"auto","priority":0,"is_held":false,"is_forced":false,"target":null,"eval_set":null,"executor":"local","num_smoke_steps":null}', '{"model": {"name": "tiny-llama"}, "data": {"dataset": "demo-v1"}, "training": {"num_steps": 2}}', NULL, 1, 0, 'worker-a', '7e4f0c168294c9cdc92bc46545e636da', 0, '2026-11-15 22:04:22.015845+00', '2026-11-15 22:04:22.093735+00', NULL, NULL, NULL, NULL, 3);
INSERT INTO public.runs VALUES (2, 'waiting', '2026-11-15 22:04:22.138071+00', 'queued', 5, false, NULL, 'demo', 'tiny-llama', 'demo-v1', 'full', 'auto', 'auto', 'local', NULL, '{"recipe":"demo","overrides":[],"dataset":null,"name":null,"engine":"auto","device":"auto","priority":5,"is_held":false,"is_forced":false,"target":null,"eval_set":null,"executor":"local","num_smoke_steps":null}', '{"model": {"name": "tiny-llama"}, "data": {"dataset": "demo-v1"}, "training": {"num_steps": 2}}', NULL, 0, 0, NULL, NULL, 0, '2026-11-15 22:04:22.138071+00', NULL, NULL, NULL, NULL, NULL, 1);
INSERT INTO public.service_flags VALUES ('queue-paused', 'true', '2026-11-15 22:04:22.16984+00');
INSERT INTO public.sweep_journal VALUES (1, 0, '{"op_code": 0}');
INSERT INTO public.sweep_trials VALUES (1, 0, 'taken', '{"training.learning_rate": 0.001}', 'succeeded', 0.5, NULL, '2026-01-01 12:00:00+00', NULL);
INSERT INTO public.sweeps VALUES (1, 'rates-0', 'rates', 'running', '{"spec": {"name": "rates", "recipe": {"model": {"name": "tiny-llama", "weights": "random", "tokenizer": "tiny"}, "data": {"dataset": "demo-v1", "row_length": 64}, "training": {"num_steps": 4, "batch_size": 2, "learning_rate": 0.001, "schedule": "constant", "precision": {"compute": "float32"}, "remat": "none", "loss_chunk_tokens": null}}, "search_space": {"training.learning_rate": {"min": 0.0001, "max": 0.01, "type": "loguniform"}}, "metric": "loss", "budget": {"num_trials": 3}}, "recipe": {"model": {"name": "tiny-llama", "weights": "random", "tokenizer": "tiny"}, "data": {"dataset": "demo-v1", "row_length": 64}, "training": {"num_steps": 4, "batch_size": 2, "learning_rate": 0.001, "schedule": "constant", "precision": {"compute": "float32"}, "remat": "none", "loss_chunk_tokens": null}}}', '2026-01-01 12:00:00+00', '2026-01-01 12:00:00+00', NULL, 'taken', NULL, NULL);
INSERT INTO public.trace_bodies VALUES (1, '{"final_answer":"5","meta":{"level":3,"source":"sums"},"prompt":"Wie viele Äpfel?","steps":[{"content":"2 + 3 = 5","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO public.trace_bodies VALUES (2, '{"final_answer":"6","meta":{"level":3,"source":"sums"},"prompt":"Isn''t it wrong?","steps":[{"content":"2 + 3 = 6","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO public.trace_bodies VALUES (3, '{"final_answer":"5","meta":{},"prompt":"Is this one unscored?","steps":[{"content":"2 + 3 = 5","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO public.trace_index VALUES (1, '''2'' ''3'' ''5'' ''viele'' ''wie'' ''äpfel'' ''21d847c961f7a71c'' ''5c1b62b7d7de9831''');
INSERT INTO public.trace_index VALUES (2, '''2'' ''3'' ''6'' ''isn'' ''it'' ''t'' ''wrong'' ''21d847c961f7a71c'' ''5c1b62b7d7de9831''');
INSERT INTO public.trace_index VALUES (3, '''2'' ''3'' ''5'' ''is'' ''one'' ''this'' ''unscored''');
INSERT INTO public.trace_lint_codes VALUES ('arithmetic-wrong', 2);
INSERT INTO public.trace_reports VALUES (1, '2026-11-15 22:04:21.682301+00', '{"linter_version":"1.0","score":100.0,"components":{"arithmetic":1.0,"answer":1.0,"grounding":1.0,"substance":1.0,"safety":1.0},"findings":[]}');
INSERT INTO public.trace_reports VALUES (2, '2026-11-15 22:04:21.782231+00', '{"linter_version":"1.0","score":15.0,"components":{"arithmetic":0.5,"answer":1.0,"grounding":0.3,"substance":1.0,"safety":1.0},"findings":[{"code":"arithmetic-wrong","step":0,"span":[8,9],"found":"6","expected":"5"}]}');
INSERT INTO public.traces VALUES (1, 'd193ccb3-bf8d-8e43-8b5b-1edb8f659464', '2025-01-31 12:00:00+00', '1.0', 'Wie viele Äpfel?', 1, 'sums', 100, '1.0');
INSERT INTO public.traces VALUES (2, '6d9ea02c-24cc-85cc-832a-30d9002c2ecd', '2025-01-31 12:00:00+00', '1.0', 'Isn''t it wrong?', 1, 'sums', 15, '1.0');
INSERT INTO public.traces VALUES (3, '93d5bd45-c945-86d7-8419-5984a65cc613', '2025-01-31 12:00:00+00', '1.0', 'Is this one unscored?', 1, NULL, NULL, NULL);
INSERT INTO public.workers VALUES ('worker-a', 'here', 1, '0', '0', '[{"device": "auto", "index": null}]', 'active', '2025-01-01 12:00:00+00', '2025-01-01 12:00:00+00', 0);
SELECT pg_catalog.setval('public.api_tokens_pk_seq', 1, true);
SELECT pg_catalog.setval('public.evaluations_pk_seq', 1, true);
SELECT pg_catalog.setval('public.gate_checks_pk_seq', 1, true);
SELECT pg_catalog.setval('public.model_versions_pk_seq', 1, true);
SELECT pg_catalog.setval('public.models_pk_seq', 2, true);
SELECT pg_catalog.setval('public.runs_pk_seq', 2, true);
SELECT pg_catalog.setval('public.sweeps_pk_seq', 1, true);
SELECT pg_catalog.setval('public.traces_pk_seq', 3, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_id_key UNIQUE (id);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (pk);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.baselines
    ADD CONSTRAINT baselines_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.evaluations
    ADD CONSTRAINT evaluations_id_key UNIQUE (id);
ALTER TABLE ONLY public.evaluations
    ADD CONSTRAINT evaluations_pkey PRIMARY KEY (pk);
ALTER TABLE ONLY public.gate_checks
    ADD CONSTRAINT gate_checks_pkey PRIMARY KEY (pk);
ALTER TABLE ONLY public.model_aliases
    ADD CONSTRAINT model_aliases_pkey PRIMARY KEY (model_pk, alias);
ALTER TABLE ONLY public.model_tags
    ADD CONSTRAINT model_tags_pkey PRIMARY KEY (version_pk, name);
ALTER TABLE ONLY public.model_versions
    ADD CONSTRAINT model_versions_id_key UNIQUE (id);
ALTER TABLE ONLY public.model_versions
    ADD CONSTRAINT model_versions_pkey PRIMARY KEY (pk);
ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_id_key UNIQUE (id);
ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_name_key UNIQUE (name);
ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_pkey PRIMARY KEY (pk);
ALTER TABLE ONLY public.predictions
    ADD CONSTRAINT predictions_pkey PRIMARY KEY (evaluation_pk, "position");
ALTER TABLE ONLY public.run_events
    ADD CONSTRAINT run_events_pkey PRIMARY KEY (run_pk, sequence);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_id_key UNIQUE (id);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (pk);
ALTER TABLE ONLY public.service_flags
    ADD CONSTRAINT service_flags_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.sweep_journal
    ADD CONSTRAINT sweep_journal_pkey PRIMARY KEY (sweep_pk, sequence);
ALTER TABLE ONLY public.sweep_trials
    ADD CONSTRAINT sweep_trials_pkey PRIMARY KEY (sweep_pk, number);
ALTER TABLE ONLY public.sweeps
    ADD CONSTRAINT sweeps_id_key UNIQUE (id);
ALTER TABLE ONLY public.sweeps
    ADD CONSTRAINT sweeps_pkey PRIMARY KEY (pk);
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
ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);
CREATE INDEX ix_baselines_evaluation_pk ON public.baselines USING btree (evaluation_pk);
CREATE INDEX ix_evaluations_created_at ON public.evaluations USING btree (created_at);
CREATE INDEX ix_evaluations_primary_score ON public.evaluations USING btree (primary_score);
CREATE INDEX ix_evaluations_run_id ON public.evaluations USING btree (run_id);
CREATE INDEX ix_gate_checks_baseline ON public.gate_checks USING btree (baseline, checked_at);
CREATE INDEX ix_gate_checks_checked_at ON public.gate_checks USING btree (checked_at);
CREATE INDEX ix_model_aliases_version_pk ON public.model_aliases USING btree (version_pk);
CREATE INDEX ix_model_versions_content_hash ON public.model_versions USING btree (content_hash);
CREATE UNIQUE INDEX ix_model_versions_label ON public.model_versions USING btree (model_pk, label);
CREATE INDEX ix_model_versions_source_run_id ON public.model_versions USING btree (source_run_id);
CREATE UNIQUE INDEX ix_model_versions_version ON public.model_versions USING btree (model_pk, version);
CREATE INDEX ix_predictions_category ON public.predictions USING btree (evaluation_pk, category, "position");
CREATE UNIQUE INDEX ix_predictions_item ON public.predictions USING btree (evaluation_pk, item_id, sample);
CREATE INDEX ix_predictions_section ON public.predictions USING btree (evaluation_pk, section, "position");
CREATE INDEX ix_predictions_verdict ON public.predictions USING btree (evaluation_pk, verdict, "position");
CREATE INDEX ix_runs_created_at ON public.runs USING btree (created_at);
CREATE INDEX ix_runs_dataset ON public.runs USING btree (dataset, created_at);
CREATE INDEX ix_runs_queue ON public.runs USING btree (status, is_held, priority DESC, pk);
CREATE INDEX ix_runs_status ON public.runs USING btree (status, created_at);
CREATE INDEX ix_runs_sweep_id ON public.runs USING btree (sweep_id);
CREATE INDEX ix_runs_worker_id ON public.runs USING btree (worker_id);
CREATE INDEX ix_sweep_trials_run_id ON public.sweep_trials USING btree (run_id);
CREATE INDEX ix_sweeps_created_at ON public.sweeps USING btree (created_at);
CREATE INDEX ix_sweeps_status ON public.sweeps USING btree (status);
CREATE INDEX ix_trace_index_tokens ON public.trace_index USING gin (tokens);
CREATE INDEX ix_trace_lint_codes_pk ON public.trace_lint_codes USING btree (pk);
CREATE INDEX ix_traces_score ON public.traces USING btree (score, pk);
ALTER TABLE ONLY public.baselines
    ADD CONSTRAINT baselines_evaluation_pk_fkey FOREIGN KEY (evaluation_pk) REFERENCES public.evaluations(pk);
ALTER TABLE ONLY public.model_aliases
    ADD CONSTRAINT model_aliases_model_pk_fkey FOREIGN KEY (model_pk) REFERENCES public.models(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.model_aliases
    ADD CONSTRAINT model_aliases_version_pk_fkey FOREIGN KEY (version_pk) REFERENCES public.model_versions(pk);
ALTER TABLE ONLY public.model_tags
    ADD CONSTRAINT model_tags_version_pk_fkey FOREIGN KEY (version_pk) REFERENCES public.model_versions(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.model_versions
    ADD CONSTRAINT model_versions_model_pk_fkey FOREIGN KEY (model_pk) REFERENCES public.models(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.predictions
    ADD CONSTRAINT predictions_evaluation_pk_fkey FOREIGN KEY (evaluation_pk) REFERENCES public.evaluations(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.run_events
    ADD CONSTRAINT run_events_run_pk_fkey FOREIGN KEY (run_pk) REFERENCES public.runs(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.sweep_journal
    ADD CONSTRAINT sweep_journal_sweep_pk_fkey FOREIGN KEY (sweep_pk) REFERENCES public.sweeps(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.sweep_trials
    ADD CONSTRAINT sweep_trials_sweep_pk_fkey FOREIGN KEY (sweep_pk) REFERENCES public.sweeps(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.trace_bodies
    ADD CONSTRAINT trace_bodies_pk_fkey FOREIGN KEY (pk) REFERENCES public.traces(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.trace_index
    ADD CONSTRAINT trace_index_pk_fkey FOREIGN KEY (pk) REFERENCES public.traces(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.trace_lint_codes
    ADD CONSTRAINT trace_lint_codes_pk_fkey FOREIGN KEY (pk) REFERENCES public.traces(pk) ON DELETE CASCADE;
ALTER TABLE ONLY public.trace_reports
    ADD CONSTRAINT trace_reports_pk_fkey FOREIGN KEY (pk) REFERENCES public.traces(pk) ON DELETE CASCADE;
