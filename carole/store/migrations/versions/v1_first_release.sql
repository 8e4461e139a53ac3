-- The tables of the first release. Types in braces are those that SQLite and PostgreSQL call by different names.

CREATE TABLE audit (
    sequence BIGINT NOT NULL,
    at BIGINT NOT NULL,
    project VARCHAR(64) NOT NULL,
    actor VARCHAR(64) NOT NULL,
    action VARCHAR(32) NOT NULL,
    details TEXT NOT NULL,
    salt {bytes} NOT NULL,
    PRIMARY KEY (sequence)
);

CREATE INDEX audit_by_project ON audit (project, sequence);

CREATE TABLE audit_checkpoints (
    size BIGINT NOT NULL,
    log VARCHAR(32) NOT NULL,
    root {bytes} NOT NULL,
    at BIGINT NOT NULL,
    signature {bytes} NOT NULL,
    PRIMARY KEY (size)
);

CREATE TABLE audit_nodes (
    height INTEGER NOT NULL,
    position BIGINT NOT NULL,
    hash {bytes} NOT NULL,
    PRIMARY KEY (height, position)
);

CREATE TABLE audit_witnesses (
    member VARCHAR(64) NOT NULL,
    size BIGINT NOT NULL,
    checkpoint TEXT NOT NULL,
    countersignature {bytes} NOT NULL,
    PRIMARY KEY (member)
);

CREATE TABLE meta (
    "key" VARCHAR(32) NOT NULL,
    value BIGINT NOT NULL,
    PRIMARY KEY ("key")
);

CREATE TABLE notices (
    id VARCHAR(32) NOT NULL,
    way VARCHAR(64) NOT NULL,
    message TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at BIGINT NOT NULL,
    kept_until BIGINT NOT NULL,
    ended INTEGER NOT NULL,
    PRIMARY KEY (id, way)
);

CREATE TABLE projects (
    id {serial} NOT NULL,
    name VARCHAR(64) NOT NULL,
    specification TEXT NOT NULL,
    specification_digest {bytes} NOT NULL,
    encoding_digest {bytes} NOT NULL,
    grants TEXT NOT NULL,
    policy VARCHAR(8) NOT NULL,
    uploads_days INTEGER NOT NULL,
    results_days INTEGER NOT NULL,
    state INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    owner VARCHAR(64) NOT NULL,
    signatures INTEGER NOT NULL,
    releases_days INTEGER NOT NULL,
    transfers TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
);

CREATE TABLE tenure (
    holder VARCHAR(32) NOT NULL,
    place VARCHAR(32) NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (holder)
);

CREATE TABLE approvals (
    project INTEGER NOT NULL,
    role VARCHAR(16) NOT NULL,
    member VARCHAR(64) NOT NULL,
    digest {bytes} NOT NULL,
    signature {bytes} NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (project, role),
    FOREIGN KEY(project) REFERENCES projects (id)
);

CREATE TABLE declines (
    project INTEGER NOT NULL,
    side VARCHAR(8) NOT NULL,
    member VARCHAR(64) NOT NULL,
    digest {bytes} NOT NULL,
    reason TEXT NOT NULL,
    signature {bytes} NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (project, side),
    FOREIGN KEY(project) REFERENCES projects (id)
);

CREATE TABLE epochs (
    project INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    member VARCHAR(64) NOT NULL,
    reason TEXT NOT NULL,
    signature {bytes} NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (project, epoch),
    FOREIGN KEY(project) REFERENCES projects (id)
);

CREATE TABLE hand_overs (
    project INTEGER NOT NULL,
    former VARCHAR(64) NOT NULL,
    successor VARCHAR(64) NOT NULL,
    member VARCHAR(64) NOT NULL,
    reason TEXT NOT NULL,
    checkpoint TEXT NOT NULL,
    signature {bytes} NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (project),
    FOREIGN KEY(project) REFERENCES projects (id)
);

CREATE TABLE key_reports (
    project INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    side VARCHAR(8) NOT NULL,
    key_check_value {bytes} NOT NULL,
    canary_digest {bytes} NOT NULL,
    at BIGINT NOT NULL,
    canary_parts TEXT NOT NULL,
    PRIMARY KEY (project, epoch, side),
    FOREIGN KEY(project) REFERENCES projects (id)
);

CREATE TABLE messages (
    project INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    side VARCHAR(8) NOT NULL,
    kind INTEGER NOT NULL,
    payload {bytes} NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (project, epoch, side, kind),
    FOREIGN KEY(project) REFERENCES projects (id)
);

CREATE TABLE payloads (
    id VARCHAR(32) NOT NULL,
    project INTEGER NOT NULL,
    wrapped_key {bytes},
    chunks INTEGER,
    root {bytes},
    complete INTEGER NOT NULL,
    writer VARCHAR(64),
    swept INTEGER NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(project) REFERENCES projects (id)
);

CREATE INDEX ix_payloads_project ON payloads (project);

CREATE TABLE runs (
    run VARCHAR(32) NOT NULL,
    project INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    request VARCHAR(64) NOT NULL,
    state INTEGER NOT NULL,
    active INTEGER,
    stage VARCHAR(32) NOT NULL,
    fraction {double} NOT NULL,
    error TEXT NOT NULL,
    links BIGINT NOT NULL,
    released INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    owner VARCHAR(64),
    lease_until BIGINT,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    call VARCHAR(16) NOT NULL,
    PRIMARY KEY (run),
    UNIQUE (project, request),
    -- 1 while active, else null, and nulls are never equal: one active run per project.
    UNIQUE (project, active),
    FOREIGN KEY(project) REFERENCES projects (id)
);

CREATE TABLE artifacts (
    run VARCHAR(32) NOT NULL,
    name VARCHAR(16) NOT NULL,
    payload VARCHAR(32) NOT NULL,
    acknowledged_at BIGINT,
    PRIMARY KEY (run, name),
    FOREIGN KEY(run) REFERENCES runs (run),
    UNIQUE (payload),
    FOREIGN KEY(payload) REFERENCES payloads (id)
);

CREATE TABLE chunks (
    payload VARCHAR(32) NOT NULL,
    position INTEGER NOT NULL,
    digest {bytes} NOT NULL,
    size INTEGER NOT NULL,
    file VARCHAR(64) NOT NULL,
    start BIGINT NOT NULL,
    PRIMARY KEY (payload, position),
    FOREIGN KEY(payload) REFERENCES payloads (id)
);

CREATE TABLE release_signatures (
    project INTEGER NOT NULL,
    run VARCHAR(32) NOT NULL,
    member VARCHAR(64) NOT NULL,
    identity VARCHAR(64) NOT NULL,
    report {bytes} NOT NULL,
    signature {bytes} NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (project, run, member),
    FOREIGN KEY(project) REFERENCES projects (id),
    FOREIGN KEY(run) REFERENCES runs (run)
);

CREATE TABLE releases (
    run VARCHAR(32) NOT NULL,
    project INTEGER NOT NULL,
    alice VARCHAR(64) NOT NULL,
    bob VARCHAR(64) NOT NULL,
    specification_digest {bytes} NOT NULL,
    at BIGINT NOT NULL,
    days INTEGER NOT NULL,
    PRIMARY KEY (run),
    FOREIGN KEY(run) REFERENCES runs (run),
    FOREIGN KEY(project) REFERENCES projects (id)
);

CREATE TABLE results (
    run VARCHAR(32) NOT NULL,
    recipient VARCHAR(16) NOT NULL,
    payload VARCHAR(32) NOT NULL,
    acknowledged_at BIGINT,
    PRIMARY KEY (run, recipient),
    FOREIGN KEY(run) REFERENCES runs (run),
    UNIQUE (payload),
    FOREIGN KEY(payload) REFERENCES payloads (id)
);

CREATE TABLE run_figures (
    run VARCHAR(32) NOT NULL,
    name VARCHAR(48) NOT NULL,
    value {double} NOT NULL,
    PRIMARY KEY (run, name),
    FOREIGN KEY(run) REFERENCES runs (run)
);

CREATE TABLE uploads (
    project INTEGER NOT NULL,
    side VARCHAR(8) NOT NULL,
    upload VARCHAR(32) NOT NULL,
    sequence INTEGER NOT NULL,
    payload VARCHAR(32) NOT NULL,
    epoch INTEGER NOT NULL,
    rows BIGINT NOT NULL,
    total_bytes BIGINT NOT NULL,
    layout TEXT NOT NULL,
    begun_at BIGINT NOT NULL,
    committed_at BIGINT,
    ended_at BIGINT,
    ended VARCHAR(16),
    PRIMARY KEY (project, side, upload),
    FOREIGN KEY(project) REFERENCES projects (id),
    UNIQUE (payload),
    FOREIGN KEY(payload) REFERENCES payloads (id)
);
