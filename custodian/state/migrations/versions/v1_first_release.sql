CREATE TABLE project (
    name VARCHAR NOT NULL,
    specification VARCHAR NOT NULL,
    specification_digest BLOB NOT NULL,
    mode VARCHAR NOT NULL,
    carole_state INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    decision VARCHAR NOT NULL,
    decided_digest BLOB NOT NULL,
    decided_by VARCHAR NOT NULL,
    decided_at DOUBLE NOT NULL,
    reason VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    blocking_error VARCHAR NOT NULL,
    rows INTEGER NOT NULL,
    links INTEGER NOT NULL,
    results VARCHAR NOT NULL,
    profile VARCHAR NOT NULL,
    timings VARCHAR NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE leakage (
    project VARCHAR NOT NULL,
    specification_digest BLOB NOT NULL,
    worst DOUBLE NOT NULL,
    field VARCHAR NOT NULL,
    "limit" DOUBLE NOT NULL,
    exceeds BOOLEAN NOT NULL,
    report VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    overridden_at DOUBLE,
    PRIMARY KEY (project),
    FOREIGN KEY (project) REFERENCES project (name)
);

CREATE TABLE secret (
    project VARCHAR NOT NULL,
    epoch INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (project, epoch, kind),
    FOREIGN KEY (project) REFERENCES project (name)
);

CREATE TABLE own_secret (
    kind VARCHAR NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (kind)
);

CREATE TABLE upload (
    id VARCHAR NOT NULL,
    project VARCHAR NOT NULL,
    epoch INTEGER NOT NULL,
    manifest BLOB NOT NULL,
    rows INTEGER NOT NULL,
    total_bytes INTEGER NOT NULL,
    digests BLOB NOT NULL,
    created_at DOUBLE NOT NULL,
    committed_at DOUBLE,
    payload_key BLOB,
    map_key BLOB,
    map_until DOUBLE NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY (project) REFERENCES project (name)
);

CREATE INDEX ix_upload_project ON upload (project);

CREATE TABLE result (
    project VARCHAR NOT NULL,
    run VARCHAR NOT NULL,
    root BLOB NOT NULL,
    folder VARCHAR NOT NULL,
    links INTEGER NOT NULL,
    fetched_at DOUBLE NOT NULL,
    acknowledged BOOLEAN NOT NULL,
    PRIMARY KEY (project, run),
    FOREIGN KEY (project) REFERENCES project (name)
);

CREATE TABLE seen (
    size INTEGER NOT NULL,
    checkpoint VARCHAR NOT NULL,
    PRIMARY KEY (size)
);

CREATE TABLE lost (
    restoration INTEGER NOT NULL,
    size INTEGER NOT NULL,
    checkpoint VARCHAR NOT NULL,
    PRIMARY KEY (restoration, size)
);
