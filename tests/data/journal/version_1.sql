-- A journal as version 1 of the schema held it. Frozen: it proves that old files can still be opened.
CREATE TABLE meta(schema_version INTEGER NOT NULL);
INSERT INTO meta(schema_version) VALUES(1);
CREATE TABLE sessions(
  session_id TEXT PRIMARY KEY NOT NULL, epoch INTEGER NOT NULL, title TEXT NOT NULL, model TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL, message_count INTEGER NOT NULL,
  generation INTEGER NOT NULL, open_turn_id TEXT NOT NULL, open_operation TEXT NOT NULL,
  last_position INTEGER NOT NULL, view_position INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE entries(
  session_id TEXT NOT NULL REFERENCES sessions(session_id) ON DELETE CASCADE, position INTEGER NOT NULL,
  entry_id TEXT NOT NULL, time_ms INTEGER NOT NULL, turn_id TEXT NOT NULL, kind TEXT NOT NULL,
  message_index INTEGER, body TEXT NOT NULL, PRIMARY KEY(session_id, position)) WITHOUT ROWID;
CREATE UNIQUE INDEX entries_by_id ON entries(entry_id);
CREATE INDEX entries_that_end ON entries(session_id, turn_id) WHERE kind = 'turn_ended';
CREATE INDEX sessions_by_update ON sessions(updated_at_ms DESC, session_id);
INSERT INTO sessions VALUES('old', 3, 'Tidy the house', 'model-a', 100, 105, 1, 0, '', 'turn', 5, 3);
INSERT INTO entries VALUES('old', 1, 'e1', 100, '', 'session_created', NULL,
  '{"model":"model-a","system_prompt":"be brief"}');
INSERT INTO entries VALUES('old', 2, 'e2', 101, 't1', 'turn_started', NULL,
  '{"handed_over":false,"input_id":"p1","operation":"turn","resumed":false,"user_message_chars":14}');
INSERT INTO entries VALUES('old', 3, 'e3', 102, 't1', 'user_message', 0,
  '{"message":{"content":"Tidy the house","input_id":"p1","origin":"prompt","role":"user"}}');
INSERT INTO entries VALUES('old', 4, 'e4', 103, 't1', 'input_accepted', NULL,
  '{"input":"faster","input_id":"s1","mode":"steering"}');
INSERT INTO entries VALUES('old', 5, 'e5', 105, 't1', 'turn_ended', NULL,
  '{"compactions":0,"duration_ms":0,"error":null,"outcome":"completed","reason":"user","samplings":1,"undelivered":[]}');
INSERT INTO sessions VALUES('damaged', 1, 'x', 'model-a', 90, 90, 1, 0, '', 'turn', 2, 2);
INSERT INTO entries VALUES('damaged', 1, 'd1', 90, '', 'session_created', NULL,
  '{"model":"model-a","system_prompt":""}');
INSERT INTO entries VALUES('damaged', 2, 'd2', 90, '', 'user_message', 0, '{"message":');
