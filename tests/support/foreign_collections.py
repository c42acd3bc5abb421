"""Collections as other programs fill them: url, text, chunk_id and source_title, and a vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from octavo.protocols import Embedder
from tests.support.qdrant_server import QdrantServer

SITE = "https://robots.example/docs"


@dataclass(frozen=True, slots=True)
class ForeignPoint:
    """A point of somebody else's. The text is what is embedded."""

    chunk_id: object
    text: str
    page: str = "intro"
    title: str = "Introduction"


ROBOTS = (
    ForeignPoint(1, "A robot is a machine that senses, plans and acts. Its joints are moved by motors."),
    ForeignPoint(2, "The gripper closes with a force of forty newtons, enough to lift a bottle."),
    ForeignPoint(
        3, "A lidar turns ten times a second and measures distances of thirty metres.", "sensors", "Sensors"
    ),
    ForeignPoint(4, "The camera sees colours, but it is blind in the dark.", "sensors", "Sensors"),
    ForeignPoint(5, "Nodes talk to each other by topics and services.", "middleware", "Middleware"),
)


def fill_collection(
    server: QdrantServer,
    points: Sequence[ForeignPoint],
    *,
    embedder: Embedder | None,
    collection: str = "ai_book_embedding",
    vector: str = "",
    first_id: int = 1,
) -> None:
    """Puts the points there, in a collection that is made when it is not there yet."""
    size = embedder.dimension if embedder else 384
    params: dict[str, object] = {"size": size, "distance": "Cosine"}
    address = f"{server.url}/collections/{collection}"
    if not httpx.get(f"{address}/exists").json()["result"]["exists"]:
        httpx.put(address, json={"vectors": {vector: params} if vector else params}).raise_for_status()
    made = []
    for id, point in enumerate(points, start=first_id):
        numbers = list(embedder.embed([point.text])[0]) if embedder else [0.0] * (size - 1) + [1.0]
        payload = {
            "url": f"{SITE}/{point.page}",
            "text": point.text,
            "chunk_id": point.chunk_id,
            "source_title": point.title,
        }
        made.append({"id": id, "vector": {vector: numbers} if vector else numbers, "payload": payload})
    httpx.put(f"{address}/points", json={"points": made}).raise_for_status()


def fill_payloads(
    server: QdrantServer, collection: str, payloads: Sequence[dict[str, object]], *, key: str = ""
) -> None:
    """Puts points with these payloads into a new collection, all with the same vector."""
    address, headers = f"{server.url}/collections/{collection}", {"api-key": key}
    sizes = {"vectors": {"size": 4, "distance": "Cosine"}}
    httpx.put(address, json=sizes, headers=headers).raise_for_status()
    made = [{"id": n, "vector": [1.0, 0, 0, 0], "payload": p} for n, p in enumerate(payloads, start=1)]
    httpx.put(f"{address}/points", json={"points": made}, headers=headers).raise_for_status()


def delete_points(server: QdrantServer, ids: Sequence[int], *, collection: str = "ai_book_embedding") -> None:
    address = f"{server.url}/collections/{collection}/points/delete"
    httpx.post(address, json={"points": list(ids)}).raise_for_status()
