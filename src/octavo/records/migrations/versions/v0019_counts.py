"""The number of questions in a session is exact, and a question whose answer was deleted says so."""

from __future__ import annotations

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.execute(
        "UPDATE sessions SET query_count ="
        " (SELECT count(*) FROM questions WHERE questions.session_id = sessions.session_id)"
    )
    # Before, an answer that was deleted with its book left no trace.
    op.execute(
        "UPDATE questions SET error = 'the answer was deleted with its book'"
        " WHERE status IN ('completed', 'insufficient_data') AND error IS NULL AND NOT EXISTS"
        " (SELECT 1 FROM answers WHERE answers.question_id = questions.id AND answers.state = 'published')"
    )
