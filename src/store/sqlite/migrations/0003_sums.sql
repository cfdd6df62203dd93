-- The checksum of each row's key and blob (checksum.h). None (NULL): written before there were any.
ALTER TABLE journal ADD COLUMN sum INTEGER;
ALTER TABLE jobs ADD COLUMN sum INTEGER;
ALTER TABLE pages ADD COLUMN sum INTEGER;
ALTER TABLE payload_heads ADD COLUMN sum INTEGER;
ALTER TABLE payloads ADD COLUMN sum INTEGER;
ALTER TABLE outcomes ADD COLUMN sum INTEGER;
ALTER TABLE settings ADD COLUMN sum INTEGER;
