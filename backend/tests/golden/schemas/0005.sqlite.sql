CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE traces (
	pk INTEGER NOT NULL, 
	id CHAR(32) NOT NULL, 
	created_at DATETIME NOT NULL, 
	trace_version VARCHAR(64) NOT NULL, 
	prompt_start VARCHAR(200) NOT NULL, 
	num_steps INTEGER NOT NULL, 
	source VARCHAR(256), 
	score FLOAT, 
	linter_version VARCHAR(64), 
	PRIMARY KEY (pk), 
	UNIQUE (id)
);
CREATE INDEX ix_traces_score ON traces (score, pk);
CREATE TABLE trace_bodies (
	pk INTEGER NOT NULL, 
	canonical TEXT NOT NULL, 
	PRIMARY KEY (pk), 
	FOREIGN KEY(pk) REFERENCES traces (pk) ON DELETE CASCADE
);
CREATE TABLE trace_reports (
	pk INTEGER NOT NULL, 
	scored_at DATETIME NOT NULL, 
	report TEXT NOT NULL, 
	PRIMARY KEY (pk), 
	FOREIGN KEY(pk) REFERENCES traces (pk) ON DELETE CASCADE
);
CREATE TABLE trace_lint_codes (
	code VARCHAR(64) NOT NULL, 
	pk INTEGER NOT NULL, 
	PRIMARY KEY (code, pk), 
	FOREIGN KEY(pk) REFERENCES traces (pk) ON DELETE CASCADE
)
 WITHOUT ROWID

;
CREATE INDEX ix_trace_lint_codes_pk ON trace_lint_codes (pk);
CREATE VIRTUAL TABLE trace_index USING fts5(tokens, content='', detail=none);
DELETE FROM trace_index_data;
DELETE FROM trace_index_idx;
DELETE FROM trace_index_docsize;
DELETE FROM trace_index_config;
CREATE TABLE evaluations (
	pk INTEGER NOT NULL, 
	id CHAR(32) NOT NULL, 
	created_at DATETIME NOT NULL, 
	evalset TEXT NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	model_name TEXT NOT NULL, 
	run_id TEXT, 
	base_model TEXT, 
	dataset TEXT, 
	recipe TEXT, 
	primary_score FLOAT, 
	summary TEXT NOT NULL, 
	record TEXT NOT NULL, 
	PRIMARY KEY (pk), 
	UNIQUE (id)
);
CREATE INDEX ix_evaluations_created_at ON evaluations (created_at);
CREATE INDEX ix_evaluations_primary_score ON evaluations (primary_score);
CREATE INDEX ix_evaluations_run_id ON evaluations (run_id);
CREATE TABLE predictions (
	evaluation_pk INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	item_id VARCHAR(128) NOT NULL, 
	sample INTEGER NOT NULL, 
	verdict VARCHAR(16) NOT NULL, 
	section VARCHAR(64) NOT NULL, 
	category VARCHAR(64) NOT NULL, 
	difficulty VARCHAR(64) NOT NULL, 
	rule VARCHAR(32), 
	searched TEXT NOT NULL, 
	record TEXT NOT NULL, 
	PRIMARY KEY (evaluation_pk, position), 
	FOREIGN KEY(evaluation_pk) REFERENCES evaluations (pk) ON DELETE CASCADE
);
CREATE UNIQUE INDEX ix_predictions_item ON predictions (evaluation_pk, item_id, sample);
CREATE INDEX ix_predictions_verdict ON predictions (evaluation_pk, verdict, position);
CREATE INDEX ix_predictions_section ON predictions (evaluation_pk, section, position);
CREATE INDEX ix_predictions_category ON predictions (evaluation_pk, category, position);
CREATE TABLE baselines (
	name VARCHAR(128) NOT NULL, 
	evaluation_pk INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	rule TEXT NOT NULL, 
	PRIMARY KEY (name), 
	FOREIGN KEY(evaluation_pk) REFERENCES evaluations (pk)
);
CREATE INDEX ix_baselines_evaluation_pk ON baselines (evaluation_pk);
CREATE TABLE runs (
	pk INTEGER NOT NULL, 
	id VARCHAR(128) NOT NULL, 
	created_at DATETIME NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	priority INTEGER NOT NULL, 
	is_held BOOLEAN NOT NULL, 
	not_before DATETIME, 
	recipe_name TEXT NOT NULL, 
	model TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	mode VARCHAR(16) NOT NULL, 
	engine VARCHAR(16) NOT NULL, 
	device VARCHAR(16) NOT NULL, 
	executor VARCHAR(16) NOT NULL, 
	sweep_id VARCHAR(64), 
	request TEXT NOT NULL, 
	recipe TEXT NOT NULL, 
	"plan" TEXT, 
	num_attempts INTEGER NOT NULL, 
	num_failures INTEGER NOT NULL, 
	worker_id VARCHAR(64), 
	lease VARCHAR(32), 
	beats INTEGER NOT NULL, 
	queued_at DATETIME NOT NULL, 
	started_at DATETIME, 
	finished_at DATETIME, 
	exit_code INTEGER, 
	failure TEXT, 
	figures TEXT, 
	num_events INTEGER NOT NULL, 
	PRIMARY KEY (pk), 
	UNIQUE (id)
);
CREATE INDEX ix_runs_created_at ON runs (created_at);
CREATE INDEX ix_runs_status ON runs (status, created_at);
CREATE INDEX ix_runs_dataset ON runs (dataset, created_at);
CREATE INDEX ix_runs_queue ON runs (status, is_held, priority DESC, pk);
CREATE INDEX ix_runs_sweep_id ON runs (sweep_id);
CREATE INDEX ix_runs_worker_id ON runs (worker_id);
CREATE TABLE run_events (
	run_pk INTEGER NOT NULL, 
	sequence INTEGER NOT NULL, 
	time DATETIME NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	message TEXT NOT NULL, 
	details TEXT NOT NULL, 
	PRIMARY KEY (run_pk, sequence), 
	FOREIGN KEY(run_pk) REFERENCES runs (pk) ON DELETE CASCADE
);
CREATE TABLE workers (
	id VARCHAR(64) NOT NULL, 
	host TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	process_start VARCHAR(64) NOT NULL, 
	version VARCHAR(64) NOT NULL, 
	slots TEXT NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	started_at DATETIME NOT NULL, 
	last_seen_at DATETIME NOT NULL, 
	beats INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE service_flags (
	name VARCHAR(64) NOT NULL, 
	value TEXT NOT NULL, 
	changed_at DATETIME NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE models (
	pk INTEGER NOT NULL, 
	id CHAR(32) NOT NULL, 
	name VARCHAR(256) NOT NULL, 
	description TEXT, 
	task_type VARCHAR(64), 
	last_version INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	updated_at DATETIME NOT NULL, 
	PRIMARY KEY (pk), 
	UNIQUE (id), 
	UNIQUE (name)
);
CREATE TABLE model_versions (
	pk INTEGER NOT NULL, 
	id CHAR(32) NOT NULL, 
	model_pk INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	label VARCHAR(64), 
	kind VARCHAR(16) NOT NULL, 
	content_hash VARCHAR(64) NOT NULL, 
	size_bytes BIGINT NOT NULL, 
	num_files INTEGER NOT NULL, 
	source_run_id VARCHAR(128), 
	source_step INTEGER, 
	base_model TEXT, 
	dataset TEXT, 
	notes TEXT NOT NULL, 
	record TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	PRIMARY KEY (pk), 
	UNIQUE (id), 
	FOREIGN KEY(model_pk) REFERENCES models (pk) ON DELETE CASCADE
);
CREATE INDEX ix_model_versions_content_hash ON model_versions (content_hash);
CREATE UNIQUE INDEX ix_model_versions_label ON model_versions (model_pk, label);
CREATE INDEX ix_model_versions_source_run_id ON model_versions (source_run_id);
CREATE UNIQUE INDEX ix_model_versions_version ON model_versions (model_pk, version);
CREATE TABLE model_aliases (
	model_pk INTEGER NOT NULL, 
	alias VARCHAR(64) NOT NULL, 
	version_pk INTEGER NOT NULL, 
	moved_at DATETIME NOT NULL, 
	PRIMARY KEY (model_pk, alias), 
	FOREIGN KEY(model_pk) REFERENCES models (pk) ON DELETE CASCADE, 
	FOREIGN KEY(version_pk) REFERENCES model_versions (pk)
);
CREATE INDEX ix_model_aliases_version_pk ON model_aliases (version_pk);
CREATE TABLE model_tags (
	version_pk INTEGER NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (version_pk, name), 
	FOREIGN KEY(version_pk) REFERENCES model_versions (pk) ON DELETE CASCADE
);
CREATE TABLE sweeps (
	pk INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	name TEXT NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	spec TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	started_at DATETIME, 
	finished_at DATETIME, 
	best_run_id VARCHAR(128), 
	failure TEXT, 
	worker_id VARCHAR(64), 
	PRIMARY KEY (pk), 
	UNIQUE (id)
);
CREATE INDEX ix_sweeps_created_at ON sweeps (created_at);
CREATE INDEX ix_sweeps_status ON sweeps (status);
CREATE TABLE sweep_trials (
	sweep_pk INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	run_id VARCHAR(128), 
	params TEXT NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	value FLOAT, 
	error TEXT, 
	created_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	PRIMARY KEY (sweep_pk, number), 
	FOREIGN KEY(sweep_pk) REFERENCES sweeps (pk) ON DELETE CASCADE
);
CREATE INDEX ix_sweep_trials_run_id ON sweep_trials (run_id);
CREATE TABLE sweep_journal (
	sweep_pk INTEGER NOT NULL, 
	sequence INTEGER NOT NULL, 
	record TEXT NOT NULL, 
	PRIMARY KEY (sweep_pk, sequence), 
	FOREIGN KEY(sweep_pk) REFERENCES sweeps (pk) ON DELETE CASCADE
);
CREATE TABLE api_tokens (
	pk INTEGER NOT NULL, 
	id VARCHAR(32) NOT NULL, 
	name TEXT NOT NULL, 
	scope VARCHAR(16) NOT NULL, 
	token_hash VARCHAR(64) NOT NULL, 
	created_at DATETIME NOT NULL, 
	expires_at DATETIME, 
	last_used_at DATETIME, 
	revoked_at DATETIME, 
	PRIMARY KEY (pk), 
	UNIQUE (id), 
	UNIQUE (token_hash)
);
CREATE TABLE gate_checks (
	pk INTEGER NOT NULL, 
	baseline VARCHAR(128) NOT NULL, 
	checked_at DATETIME NOT NULL, 
	record TEXT NOT NULL, 
	PRIMARY KEY (pk)
);
CREATE INDEX ix_gate_checks_baseline ON gate_checks (baseline, checked_at);
CREATE INDEX ix_gate_checks_checked_at ON gate_checks (checked_at);
CREATE TABLE preferences (
	pk INTEGER NOT NULL, 
	id CHAR(32) NOT NULL, 
	created_at DATETIME NOT NULL, 
	model_a TEXT NOT NULL, 
	model_b TEXT NOT NULL, 
	choice VARCHAR(16) NOT NULL, 
	record TEXT NOT NULL, 
	PRIMARY KEY (pk), 
	UNIQUE (id)
);
CREATE INDEX ix_preferences_created_at ON preferences (created_at);
CREATE INDEX ix_preferences_models ON preferences (model_a, model_b, choice);
INSERT INTO alembic_version VALUES ('0005');
INSERT INTO traces VALUES (1, 'd193ccb3bf8d8e438b5b1edb8f659464', '2025-01-31 12:00:00+00:00', '1.0', 'Wie viele Äpfel?', 1, 'sums', 100.0, '1.0');
INSERT INTO traces VALUES (2, '6d9ea02c24cc85cc832a30d9002c2ecd', '2025-01-31 12:00:00+00:00', '1.0', 'Isn''t it wrong?', 1, 'sums', 15.0, '1.0');
INSERT INTO traces VALUES (3, '93d5bd45c94586d784195984a65cc613', '2025-01-31 12:00:00+00:00', '1.0', 'Is this one unscored?', 1, NULL, NULL, NULL);
INSERT INTO trace_bodies VALUES (1, '{"final_answer":"5","meta":{"level":3,"source":"sums"},"prompt":"Wie viele Äpfel?","steps":[{"content":"2 + 3 = 5","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO trace_bodies VALUES (2, '{"final_answer":"6","meta":{"level":3,"source":"sums"},"prompt":"Isn''t it wrong?","steps":[{"content":"2 + 3 = 6","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO trace_bodies VALUES (3, '{"final_answer":"5","meta":{},"prompt":"Is this one unscored?","steps":[{"content":"2 + 3 = 5","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO trace_reports VALUES (1, '2026-11-15 22:04:23.922360', '{"linter_version":"1.0","score":100.0,"components":{"arithmetic":1.0,"answer":1.0,"grounding":1.0,"substance":1.0,"safety":1.0},"findings":[]}');
INSERT INTO trace_reports VALUES (2, '2026-11-15 22:04:23.979452', '{"linter_version":"1.0","score":15.0,"components":{"arithmetic":0.5,"answer":1.0,"grounding":0.3,"substance":1.0,"safety":1.0},"findings":[{"code":"arithmetic-wrong","step":0,"span":[8,9],"found":"6","expected":"5"}]}');
INSERT INTO trace_lint_codes VALUES ('arithmetic-wrong', 2);
INSERT INTO trace_index_data VALUES (1, X'0318');
INSERT INTO trace_index_data VALUES (10, X'000000000103030003010101020101030101');
INSERT INTO trace_index_data VALUES (137438953473, X'0000004F0230320101013301010135010105617066656C0101057669656C65010103776965010113EE80803231643834376339363166376137316301041035633162363262376437646539383331010404040408080616');
INSERT INTO trace_index_data VALUES (274877906945, X'0000004F023032020101330201013602010369736E020201740201017402010577726F6E67020113EE8080323164383437633936316637613731630204103563316236326237643764653938333102040404040604040816');
INSERT INTO trace_index_data VALUES (412316860417, X'0000002D023032030101330301013503010269730301036F6E6503010474686973030108756E73636F7265640304040404050607');
INSERT INTO trace_index_idx VALUES (1, X'', 2);
INSERT INTO trace_index_idx VALUES (2, X'', 2);
INSERT INTO trace_index_idx VALUES (3, X'', 2);
INSERT INTO trace_index_docsize VALUES (1, X'08');
INSERT INTO trace_index_docsize VALUES (2, X'09');
INSERT INTO trace_index_docsize VALUES (3, X'07');
INSERT INTO trace_index_config VALUES ('version', 4);
INSERT INTO evaluations VALUES (1, '296f6bdab9b059baab13bf2b20b09fa6', '2026-01-01 12:00:00.000000', 'exam', '8db4f60a98d5a48386131e1a48fbad4d1f7f05949ac561390c4c55c361618a81', 'model-a', NULL, NULL, NULL, NULL, 0.5, '{"evaluation_id":"296f6bda-b9b0-59ba-ab13-bf2b20b09fa6","created_at":"2026-01-01T12:00:00Z","model":{"name":"model-a","origin":"hub","weights":"pretrained","is_adapter":false},"evalset":"exam","evalset_hash":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee","fingerprint":"8db4f60a98d5a48386131e1a48fbad4d1f7f05949ac561390c4c55c361618a81","num_items":3,"num_scored":2,"num_unscored":1,"primary_score":0.5,"low":0.09453120463920085,"high":0.9054687953607992,"format_adherence":1.0}', '{"evaluation_version":"1","evaluation_id":"296f6bda-b9b0-59ba-ab13-bf2b20b09fa6","created_at":"2026-01-01T12:00:00Z","tunix_rt_version":"0.1.0","model":{"name":"model-a","origin":"hub","weights":"pretrained","is_adapter":false},"evalset":"exam","num_items":3,"protocol":{"evalset_hash":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee","template_hash":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc","markup":"reasoning","decoding":{"temperature":0.0,"top_p":1.0,"num_samples":1,"seed":0,"max_new_tokens":512},"extraction":{"rules":["answer-tag","boxed"],"lenient_rules":[]},"max_answer_chars":10000,"versions":{"extractor":"1","checker.number":"1"}},"fingerprint":"8db4f60a98d5a48386131e1a48fbad4d1f7f05949ac561390c4c55c361618a81","scores":{"primary_score":0.5,"overall":{"num_items":3,"num_predictions":3,"num_scored":2,"num_unscored":1,"num_no_answer":0,"num_lenient":0,"num_cut_off":0,"num_steps":2,"accuracy":{"value":0.5,"low":0.09453120463920085,"high":0.9054687953607992,"n":2,"method":"wilson"},"format_adherence":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson"},"reasoning_tokens":{"mean":7.0,"median":7.0,"p90":7.0,"n":2},"reasoning_steps":{"mean":1.0,"median":1.0,"p90":1.0,"n":2},"step_correctness":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson-by-item"},"right_by_wrong_work":{"value":0.0,"low":0.0,"high":0.7934506882081973,"n":1,"method":"wilson"},"pass_at":{},"majority_at":{}},"by_section":{"core":{"num_items":3,"num_predictions":3,"num_scored":2,"num_unscored":1,"num_no_answer":0,"num_lenient":0,"num_cut_off":0,"num_steps":2,"accuracy":{"value":0.5,"low":0.09453120463920085,"high":0.9054687953607992,"n":2,"method":"wilson"},"format_adherence":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson"},"reasoning_tokens":{"mean":7.0,"median":7.0,"p90":7.0,"n":2},"reasoning_steps":{"mean":1.0,"median":1.0,"p90":1.0,"n":2},"step_correctness":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson-by-item"},"right_by_wrong_work":{"value":0.0,"low":0.0,"high":0.7934506882081973,"n":1,"method":"wilson"},"pass_at":{},"majority_at":{}}},"by_category":{"addition":{"num_items":3,"num_predictions":3,"num_scored":2,"num_unscored":1,"num_no_answer":0,"num_lenient":0,"num_cut_off":0,"num_steps":2,"accuracy":{"value":0.5,"low":0.09453120463920085,"high":0.9054687953607992,"n":2,"method":"wilson"},"format_adherence":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson"},"reasoning_tokens":{"mean":7.0,"median":7.0,"p90":7.0,"n":2},"reasoning_steps":{"mean":1.0,"median":1.0,"p90":1.0,"n":2},"step_correctness":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson-by-item"},"right_by_wrong_work":{"value":0.0,"low":0.0,"high":0.7934506882081973,"n":1,"method":"wilson"},"pass_at":{},"majority_at":{}}},"by_difficulty":{"easy":{"num_items":3,"num_predictions":3,"num_scored":2,"num_unscored":1,"num_no_answer":0,"num_lenient":0,"num_cut_off":0,"num_steps":2,"accuracy":{"value":0.5,"low":0.09453120463920085,"high":0.9054687953607992,"n":2,"method":"wilson"},"format_adherence":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson"},"reasoning_tokens":{"mean":7.0,"median":7.0,"p90":7.0,"n":2},"reasoning_steps":{"mean":1.0,"median":1.0,"p90":1.0,"n":2},"step_correctness":{"value":1.0,"low":0.34238022395464934,"high":1.0,"n":2,"method":"wilson-by-item"},"right_by_wrong_work":{"value":0.0,"low":0.0,"high":0.7934506882081973,"n":1,"method":"wilson"},"pass_at":{},"majority_at":{}}},"failures":{"prompt-too-long":1},"rules":{"answer-tag":2}},"predictions_hash":"64e0dc28dabf47dbc13215c7012261ec80a5c11e40514ed290c013a372a652f0"}');
INSERT INTO predictions VALUES (1, 0, 'item-0', 0, 'correct', 'core', 'addition', 'easy', 'answer-tag', 'what is 9 + 9? (item-0)
18
<reasoning>
9 + 9 = 18
</reasoning>
<answer>18</answer>', '{"item_id":"item-0","sample":0,"prompt":"What is 9 + 9? (item-0)","expected_answer":"18","section":"core","category":"addition","difficulty":"easy","generation":{"item_id":"item-0","sample":0,"text":"<reasoning>\n9 + 9 = 18\n</reasoning>\n<answer>18</answer>","finish":"end-of-turn","num_prompt_tokens":7,"num_new_tokens":8,"num_reasoning_tokens":7},"judgement":{"verdict":"correct","is_well_formed":true,"steps":[{"text":"a confirmed step","verdict":"confirmed"}],"answer":"18","rule":"answer-tag","is_lenient":false,"explanation":"18 equals 18","canonical":"18"}}');
INSERT INTO predictions VALUES (1, 1, 'item-1', 0, 'wrong', 'core', 'addition', 'easy', 'answer-tag', 'what is 9 + 9? (item-1)
18
<reasoning>
9 + 9 = 18
</reasoning>
<answer>17</answer>', '{"item_id":"item-1","sample":0,"prompt":"What is 9 + 9? (item-1)","expected_answer":"18","section":"core","category":"addition","difficulty":"easy","generation":{"item_id":"item-1","sample":0,"text":"<reasoning>\n9 + 9 = 18\n</reasoning>\n<answer>17</answer>","finish":"end-of-turn","num_prompt_tokens":7,"num_new_tokens":8,"num_reasoning_tokens":7},"judgement":{"verdict":"wrong","is_well_formed":true,"steps":[{"text":"a confirmed step","verdict":"confirmed"}],"answer":"17","rule":"answer-tag","is_lenient":false,"explanation":"not 18","canonical":"17"}}');
INSERT INTO predictions VALUES (1, 2, 'item-2', 0, 'unscored', 'core', 'addition', 'easy', NULL, 'what is 9 + 9? (item-2)
18
', '{"item_id":"item-2","sample":0,"prompt":"What is 9 + 9? (item-2)","expected_answer":"18","section":"core","category":"addition","difficulty":"easy","generation":{"item_id":"item-2","sample":0,"num_prompt_tokens":0,"num_new_tokens":0,"num_reasoning_tokens":0,"failure":{"code":"prompt-too-long","detail":"700 tokens of 512"}},"judgement":{"verdict":"unscored","is_well_formed":false,"steps":[{"text":"a confirmed step","verdict":"confirmed"}],"is_lenient":false,"explanation":"the checker failed"}}');
INSERT INTO baselines VALUES ('main', 1, '2026-01-01 12:00:00.000000', '{"alpha":0.05,"protected_sections":[],"protected_categories":[],"protected_items":[],"max_unscored":0.0}');
INSERT INTO runs VALUES (1, 'taken', '2026-11-15 22:04:24.073789', 'running', 0, 0, NULL, 'demo', 'tiny-llama', 'demo-v1', 'full', 'auto', 'auto', 'local', NULL, '{"recipe":"demo","overrides":[],"dataset":null,"name":null,"engine":"auto","device":"auto","priority":0,"is_held":false,"is_forced":false,"target":null,"eval_set":null,"executor":"local","num_smoke_steps":null}', '{"model": {"name": "tiny-llama"}, "data": {"dataset": "demo-v1"}, "training": {"num_steps": 2}}', NULL, 1, 0, 'worker-a', '3cf250f7245c02f6efdcd2c22208579a', 0, '2026-11-15 22:04:24.073789', '2026-11-15 22:04:24.097110', NULL, NULL, NULL, NULL, 3);
INSERT INTO runs VALUES (2, 'waiting', '2026-11-15 22:04:24.121803', 'queued', 5, 0, NULL, 'demo', 'tiny-llama', 'demo-v1', 'full', 'auto', 'auto', 'local', NULL, '{"recipe":"demo","overrides":[],"dataset":null,"name":null,"engine":"auto","device":"auto","priority":5,"is_held":false,"is_forced":false,"target":null,"eval_set":null,"executor":"local","num_smoke_steps":null}', '{"model": {"name": "tiny-llama"}, "data": {"dataset": "demo-v1"}, "training": {"num_steps": 2}}', NULL, 0, 0, NULL, NULL, 0, '2026-11-15 22:04:24.121803', NULL, NULL, NULL, NULL, NULL, 1);
INSERT INTO run_events VALUES (1, 0, '2026-11-15 22:04:24.073789', 'submitted', 'Submitted.', '{}');
INSERT INTO run_events VALUES (1, 1, '2026-11-15 22:04:24.097110', 'claimed', 'Taken by worker-a.', '{"worker_id": "worker-a", "attempt": 1}');
INSERT INTO run_events VALUES (1, 2, '2026-11-15 22:04:24.101245', 'started', 'The engine has begun.', '{"attempt": 1}');
INSERT INTO run_events VALUES (2, 0, '2026-11-15 22:04:24.121803', 'submitted', 'Submitted.', '{}');
INSERT INTO workers VALUES ('worker-a', 'here', 1, '0', '0', '[{"device": "auto", "index": null}]', 'active', '2025-01-01 12:00:00.000000', '2025-01-01 12:00:00.000000', 0);
INSERT INTO service_flags VALUES ('queue-paused', 'true', '2026-11-15 22:04:24.142567');
INSERT INTO models VALUES (1, '96f0c5496f8045689957dfb089f08175', 'sums', 'Adds.', NULL, 1, '2026-11-15 22:04:24.150166', '2026-11-15 22:04:24.348366');
INSERT INTO model_versions VALUES (1, 'f1ddf85d86774895a96432724602838e', 1, 1, NULL, 'model', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 7000000000, 3, NULL, NULL, NULL, 'demo-v1', '', '{"markup":"reasoning","lineage":{"is_checkpoint":false,"dataset":"demo-v1"}}', '2026-11-15 22:04:24.224343');
INSERT INTO model_aliases VALUES (1, 'champion', 1, '2026-11-15 22:04:24.289049');
INSERT INTO model_tags VALUES (1, 'stage', 'tried');
INSERT INTO sweeps VALUES (1, 'rates-0', 'rates', 'running', '{"spec": {"name": "rates", "recipe": {"model": {"name": "tiny-llama", "weights": "random", "tokenizer": "tiny"}, "data": {"dataset": "demo-v1", "row_length": 64}, "training": {"num_steps": 4, "batch_size": 2, "learning_rate": 0.001, "schedule": "constant", "precision": {"compute": "float32"}, "remat": "none", "loss_chunk_tokens": null}}, "search_space": {"training.learning_rate": {"min": 0.0001, "max": 0.01, "type": "loguniform"}}, "metric": "loss", "budget": {"num_trials": 3}}, "recipe": {"model": {"name": "tiny-llama", "weights": "random", "tokenizer": "tiny"}, "data": {"dataset": "demo-v1", "row_length": 64}, "training": {"num_steps": 4, "batch_size": 2, "learning_rate": 0.001, "schedule": "constant", "precision": {"compute": "float32"}, "remat": "none", "loss_chunk_tokens": null}}}', '2026-01-01 12:00:00.000000', '2026-01-01 12:00:00.000000', NULL, 'taken', NULL, NULL);
INSERT INTO sweep_trials VALUES (1, 0, 'taken', '{"training.learning_rate": 0.001}', 'succeeded', 0.5, NULL, '2026-01-01 12:00:00.000000', NULL);
INSERT INTO sweep_journal VALUES (1, 0, '{"op_code": 0}');
INSERT INTO api_tokens VALUES (1, 'ci', 'CI', 'read', '0000000000000000000000000000000000000000000000000000000000000000', '2026-01-01 12:00:00.000000', NULL, NULL, NULL);
INSERT INTO gate_checks VALUES (1, 'main', '2026-01-01 12:00:00.000000', '{"checked_at":"2026-01-01T12:00:00Z","baseline_name":"main","baseline_evaluation_id":"01234567-89ab-8def-8123-456789abcdef","evaluation_id":"01234567-89ab-8def-8123-456789abcdef","model_name":"sums:1","run_id":null,"evalset":"eval_v2","passed":true,"reasons":[],"rule":{"alpha":0.05,"protected_sections":[],"protected_categories":[],"protected_items":[],"max_unscored":0.0},"overall":null}');
INSERT INTO preferences VALUES (1, '0123456789ab8def8123456789abcdef', '2026-01-01 12:00:00.000000', 'sums:1', 'sums:2', 'a', '{"messages":[{"role":"user","content":"What is 2 + 3?"}],"a":{"model":"sums:1","content":"5"},"b":{"model":"sums:2","content":"6"},"choice":"a","id":"01234567-89ab-8def-8123-456789abcdef","created_at":"2026-01-01T12:00:00Z"}');
