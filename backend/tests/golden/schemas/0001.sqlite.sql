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
INSERT INTO alembic_version VALUES ('0001');
INSERT INTO traces VALUES (1, 'd193ccb3bf8d8e438b5b1edb8f659464', '2025-01-31 12:00:00+00:00', '1.0', 'Wie viele Äpfel?', 1, 'sums', 100.0, '1.0');
INSERT INTO traces VALUES (2, '6d9ea02c24cc85cc832a30d9002c2ecd', '2025-01-31 12:00:00+00:00', '1.0', 'Isn''t it wrong?', 1, 'sums', 15.0, '1.0');
INSERT INTO traces VALUES (3, '93d5bd45c94586d784195984a65cc613', '2025-01-31 12:00:00+00:00', '1.0', 'Is this one unscored?', 1, NULL, NULL, NULL);
INSERT INTO trace_bodies VALUES (1, '{"final_answer":"5","meta":{"level":3,"source":"sums"},"prompt":"Wie viele Äpfel?","steps":[{"content":"2 + 3 = 5","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO trace_bodies VALUES (2, '{"final_answer":"6","meta":{"level":3,"source":"sums"},"prompt":"Isn''t it wrong?","steps":[{"content":"2 + 3 = 6","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO trace_bodies VALUES (3, '{"final_answer":"5","meta":{},"prompt":"Is this one unscored?","steps":[{"content":"2 + 3 = 5","i":0,"type":"reasoning"}],"trace_version":"1.0"}');
INSERT INTO trace_reports VALUES (1, '2026-11-15 15:43:44.330793', '{"linter_version":"1.0","score":100.0,"components":{"arithmetic":1.0,"answer":1.0,"grounding":1.0,"substance":1.0,"safety":1.0},"findings":[]}');
INSERT INTO trace_reports VALUES (2, '2026-11-15 15:43:44.356735', '{"linter_version":"1.0","score":15.0,"components":{"arithmetic":0.5,"answer":1.0,"grounding":0.3,"substance":1.0,"safety":1.0},"findings":[{"code":"arithmetic-wrong","step":0,"span":[8,9],"found":"6","expected":"5"}]}');
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
