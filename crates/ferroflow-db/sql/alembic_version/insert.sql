INSERT INTO alembic_version (version_num) VALUES (?)
