-- Times are unix seconds unless a name ends in _ms; 256-bit values, addresses and hashes are blobs, big-endian.

CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- Two cursors for each chain: all up to them is told.
CREATE TABLE chain (
  chain_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  genesis BLOB NOT NULL,
  final_number INTEGER, final_hash BLOB, final_time INTEGER,
  seen_number INTEGER, seen_hash BLOB, seen_time INTEGER
) STRICT;

-- Those that were walked, by which a reorg is noticed.
CREATE TABLE block (
  chain_id INTEGER NOT NULL,
  hash BLOB NOT NULL,
  number INTEGER NOT NULL,
  parent BLOB NOT NULL,
  time INTEGER NOT NULL,
  PRIMARY KEY (chain_id, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX block_by_number ON block (chain_id, number);

CREATE TABLE contract (
  chain_id INTEGER NOT NULL,
  address BLOB NOT NULL,
  label TEXT,
  source TEXT NOT NULL CHECK (source IN ('listed', 'discovered')),
  -- The first block to read.
  start INTEGER NOT NULL,
  -- The last one that was read; below start where none was.
  scanned_to INTEGER NOT NULL,
  -- What was final when it was first read. Facts up to it are history, and make no alert.
  first_final INTEGER,
  -- Whether that history was summed up.
  digested INTEGER NOT NULL DEFAULT 0,
  code_hash BLOB,
  PRIMARY KEY (chain_id, address)
) STRICT, WITHOUT ROWID;

-- Few are not summed up, and each block looks for them.
CREATE INDEX contract_undigested ON contract (chain_id, digested, first_final, scanned_to);

CREATE TABLE fact (
  chain_id INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  log_index INTEGER NOT NULL,
  block_number INTEGER NOT NULL,
  block_time INTEGER NOT NULL,
  tx_hash BLOB,
  contract BLOB NOT NULL,
  -- Empty where the log is of an unknown shape.
  breaker BLOB NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('opened', 'closed', 'configured', 'unknown')),
  -- The log: number of topics, topics, data.
  raw BLOB NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('seen', 'final', 'retracted')),
  -- How often it has entered the chain: a block can leave and return.
  entries INTEGER NOT NULL,
  late INTEGER NOT NULL,
  PRIMARY KEY (chain_id, block_hash, log_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_by_breaker ON fact (chain_id, contract, breaker, block_number, log_index);
CREATE INDEX fact_by_number ON fact (chain_id, block_number);
CREATE INDEX fact_by_tx ON fact (chain_id, tx_hash);
CREATE INDEX fact_not_final ON fact (chain_id, block_number) WHERE status = 'seen';

-- Facts that are no logs.
CREATE TABLE note (
  id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  data TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE breaker (
  chain_id INTEGER NOT NULL,
  contract BLOB NOT NULL,
  breaker BLOB NOT NULL,
  label TEXT,
  listed INTEGER NOT NULL,
  -- The fold of its final facts, and of all that are on the chain.
  final_fold TEXT NOT NULL,
  fold TEXT NOT NULL,
  -- Of the latter, for queries. Half-open is open with a deadline that a block has reached.
  state TEXT NOT NULL CHECK (state IN ('closed', 'open', 'half-open', 'unknown')),
  retry_at INTEGER,
  -- The same while a block's time may still make it half-open.
  due_at INTEGER,
  since INTEGER,
  -- When it will have been open for too long.
  stuck_at INTEGER,
  -- Its storage, and the block it was read at.
  word BLOB, word_number INTEGER, word_hash BLOB,
  -- Storage and events say different things; how, in words.
  drift TEXT,
  probe_failures INTEGER NOT NULL DEFAULT 0,
  parked_until INTEGER,
  PRIMARY KEY (chain_id, contract, breaker)
) STRICT, WITHOUT ROWID;
CREATE INDEX breaker_due ON breaker (chain_id, due_at);
-- Those whose storage is to be read have no word_number; each block looks for them.
CREATE INDEX breaker_unread ON breaker (chain_id, word_number);
CREATE INDEX breaker_stuck ON breaker (chain_id, stuck_at) WHERE stuck_at IS NOT NULL;
CREATE INDEX breaker_by_state ON breaker (state);

CREATE TABLE mute (
  key TEXT PRIMARY KEY,
  until INTEGER NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What there is to tell, whether or not anybody wants to hear it.
CREATE TABLE message (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  key TEXT NOT NULL,
  type TEXT NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('seen', 'final', 'retracted')),
  severity TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  -- The fact it is about, or the note.
  chain_id INTEGER, block_hash BLOB, log_index INTEGER,
  note TEXT,
  body TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX message_by_fact ON message (chain_id, block_hash, log_index);
CREATE INDEX message_by_key ON message (key, seq);

CREATE TABLE outbox (
  message TEXT NOT NULL REFERENCES message (id),
  channel TEXT NOT NULL,
  seq INTEGER NOT NULL,
  key TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'claimed', 'delivered', 'superseded', 'dead')),
  attempts INTEGER NOT NULL DEFAULT 0,
  -- An attempt may have arrived, though nobody said so.
  maybe_delivered INTEGER NOT NULL DEFAULT 0,
  at_ms INTEGER NOT NULL,
  -- When it was first tried: it is given up some time after that, however long it has waited before.
  first_at_ms INTEGER,
  next_at_ms INTEGER NOT NULL,
  claimed_until_ms INTEGER,
  delivered_at_ms INTEGER,
  last_error TEXT,
  PRIMARY KEY (message, channel)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_waiting ON outbox (channel, key, seq) WHERE status IN ('pending', 'claimed');
CREATE INDEX outbox_by_status ON outbox (channel, status);

CREATE TABLE channel (
  name TEXT PRIMARY KEY,
  disabled_at INTEGER NOT NULL,
  reason TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What the pools knew of their nodes.
CREATE TABLE pool (
  chain_id INTEGER NOT NULL,
  profile TEXT NOT NULL,
  snapshot TEXT NOT NULL,
  PRIMARY KEY (chain_id, profile)
) STRICT, WITHOUT ROWID;
