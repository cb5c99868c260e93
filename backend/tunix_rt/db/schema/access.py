"""Who may ask: tokens, of which only hashes are kept."""

from sqlalchemy import Column, String, Table, Text

from tunix_rt.db.schema.columns import PrimaryKey, UtcDateTime, metadata

api_tokens = Table(
    "api_tokens",
    metadata,
    Column("pk", PrimaryKey, primary_key=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("scope", String(16), nullable=False),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("last_used_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
)
