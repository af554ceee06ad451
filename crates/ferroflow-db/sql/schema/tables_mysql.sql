SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name
