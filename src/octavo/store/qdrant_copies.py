"""The copies of a collection in a cluster: how many must confirm a write, and which of them lag behind.

A write counts when a quorum of the copies has confirmed it, so that one server may be away. The cluster knows
which copies missed a write, and brings them up to date when they are back. Until then they serve no search.
`find_lagging` names them, so that the library can note it and `octavo doctor` can compare all copies later.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from qdrant_client import models

from octavo.errors import InvalidValue, StoreError

if TYPE_CHECKING:
    from octavo.store.qdrant_client import QdrantConnection


def choose_quorum(replicas: int, wanted: int) -> int:
    """Choose how many of the copies must confirm a write: as many as `wanted`, or more than half for 0."""
    if wanted > replicas:
        raise InvalidValue(
            "store_quorum", f"must be at most the number of copies, which is {replicas}", wanted
        )
    return wanted or replicas // 2 + 1


async def ensure_quorum(connection: QdrantConnection, name: str, wanted: int) -> None:
    """Let a collection that exists ask for as many confirmations as the settings say."""
    found = await connection.call("describe it", lambda server: server.get_collection(name))
    params = found.config.params
    quorum = choose_quorum(params.replication_factor or 1, wanted)
    if (params.write_consistency_factor or 1) != quorum:
        changed = models.CollectionParamsDiff(write_consistency_factor=quorum)
        await connection.call(
            "change its quorum", lambda server: server.update_collection(name, collection_params=changed)
        )


async def count_copies(connection: QdrantConnection, name: str) -> int:
    """Count the copies that each shard of the collection should have."""
    found = await connection.call("describe it", lambda server: server.get_collection(name))
    return found.config.params.replication_factor or 1


async def find_lagging(connection: QdrantConnection, name: str) -> list[str]:
    """Name the copies that may have missed a write, as the cluster sees them. A single server has none."""
    found = None
    # A server that is not part of a cluster may not know the question.
    with suppress(StoreError):
        found = await connection.call(
            "describe its copies", lambda server: server.collection_cluster_info(name)
        )
    if found is None:
        return []
    copies = [(each.shard_id, found.peer_id, each.state) for each in found.local_shards]
    copies += [(each.shard_id, each.peer_id, each.state) for each in found.remote_shards]
    return sorted(
        f"shard {shard} on server {peer} ({state.value})"
        for shard, peer, state in copies
        if state is not models.ReplicaState.ACTIVE
    )
