"""The collections of the tests' Qdrant server: REST requests, answered by a Qdrant Edge shard each.

A collection is a folder with a shard and the configuration it was made with. Only what Octavo uses is
understood; anything else is refused, as a real server refuses what it does not know.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from qdrant_edge import (
    CountRequest,
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    FieldCondition,
    Filter,
    MatchAny,
    MatchValue,
    Modifier,
    PayloadSchemaType,
    Point,
    Query,
    QueryBatchRequest,
    QueryRequest,
    RangeFloat,
    ScrollRequest,
    SparseVector,
    UpdateOperation,
)

Said = Mapping[str, Any]
_DISTANCES = {"Cosine": Distance.Cosine, "Dot": Distance.Dot, "Euclid": Distance.Euclid}
_KINDS = {"keyword": PayloadSchemaType.Keyword, "integer": PayloadSchemaType.Integer}
_ROUTE = re.compile(r"/collections/([^/]+)(/.*)?")


class Refused(Exception):
    """The server says no, in the words of a status."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


VERSION = "1.17.0"


class Collections:
    """Those that lie in `folder`. Not for several threads at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._open = {path.name: _Collection.load(path) for path in folder.iterdir()}

    def close(self) -> None:
        for collection in self._open.values():
            collection.shard.close()

    def answer(self, method: str, path: str, said: Said, *, half: bool = False) -> Any:
        if path == "/":
            return {"title": "a test's Qdrant", "version": VERSION}
        if path == "/collections":
            return {"collections": [{"name": name} for name in self._open]}
        matched = _ROUTE.fullmatch(path)
        if matched is None:
            raise Refused(404, "Not found")
        name, rest = matched[1], matched[2] or ""
        if rest == "/exists":
            return {"exists": name in self._open}
        if (method, rest) == ("PUT", ""):
            return self._make(name, said)
        if name not in self._open:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        if (method, rest) == ("DELETE", ""):
            return self._drop(name)
        return self._open[name].answer(method, rest, said, half=half)

    def _make(self, name: str, said: Said) -> bool:
        if name in self._open:
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        self._open[name] = _Collection.make(self._folder / name, said)
        return True

    def _drop(self, name: str) -> bool:
        self._open.pop(name).shard.close()
        shutil.rmtree(self._folder / name)
        return True


class _Collection:
    def __init__(self, path: Path, said: Said, shard: EdgeShard) -> None:
        self._path, self._said, self.shard = path, said, shard

    @classmethod
    def make(cls, path: Path, said: Said) -> _Collection:
        path.mkdir()
        (path / "made.json").write_text(json.dumps(said), encoding="utf-8")
        return cls(path, said, EdgeShard.create(str(path / "shard"), _config(said)))

    @classmethod
    def load(cls, path: Path) -> _Collection:
        said = json.loads((path / "made.json").read_text(encoding="utf-8"))
        return cls(path, said, EdgeShard.load(str(path / "shard"), _config(said)))

    def answer(self, method: str, route: str, said: Said, *, half: bool) -> Any:
        routes: dict[str, Callable[[Said], Any]] = {
            "GET ": self._info,
            "PATCH ": self._change,
            "GET /cluster": self._cluster,
            "PUT /index": self._index,
            "POST /points": self._retrieve,
            "POST /points/scroll": self._scroll,
            "POST /points/count": self._count,
            "POST /points/query/batch": self._query_batch,
            "POST /points/delete": self._delete,
            "PUT /points": lambda said: self._upsert(said, half=half),
        }
        answering = routes.get(f"{method} {route}")
        if answering is None:
            raise Refused(404, f"the tests' server does not know {method} {route}")
        try:
            return answering(said)
        except (Refused, KeyError):
            raise
        except Exception as error:  # the engine says everything in one kind of exception
            raise Refused(400, f"Wrong input: {error}") from error

    def _info(self, _: Said) -> Any:
        said, info = self._said, self.shard.info()
        params = {key: said.get(key) for key in ("vectors", "sparse_vectors", "on_disk_payload")}
        for key in ("shard_number", "replication_factor", "write_consistency_factor"):
            params[key] = said.get(key) or 1
        kinds = {key: str(kind) for key, kind in self._schema().items()}
        return {
            "status": "green",
            "optimizer_status": "ok",
            "indexed_vectors_count": info.indexed_vectors_count,
            "points_count": info.points_count,
            "segments_count": 1,
            "config": {
                "params": params,
                "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
                "optimizer_config": {
                    "deleted_threshold": 0.2,
                    "vacuum_min_vector_number": 1000,
                    "default_segment_number": 0,
                    "flush_interval_sec": 5,
                },
                "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
                "quantization_config": said.get("quantization_config"),
            },
            "payload_schema": {key: {"data_type": kind, "points": 0} for key, kind in kinds.items()},
        }

    def _change(self, said: Said) -> Any:
        """Merges new parameters into the old ones. The shard is loaded again with them."""
        sparse = {
            name: {**(self._said.get("sparse_vectors") or {}).get(name, {}), **one}
            for name, one in (said.get("sparse_vectors") or {}).items()
        }
        self._said = {**self._said, **(said.get("params") or {})}
        if sparse:
            self._said["sparse_vectors"] = sparse
            self.shard.close()
            for file in (self._path / "shard").glob("**/*.json"):
                if file.name in ("edge_config.json", "segment.json"):
                    _set_modifiers(file, sparse)
            self.shard = EdgeShard.load(str(self._path / "shard"), _config(self._said))
        (self._path / "made.json").write_text(json.dumps(self._said), encoding="utf-8")
        return True

    def _cluster(self, _: Said) -> Any:
        """One shard, with as many copies as were asked for. Those that the test took away are dead."""
        noted = self._path / "dead.json"
        dead = json.loads(noted.read_text(encoding="utf-8")) if noted.exists() else []
        copies = [
            {"shard_id": 0, "peer_id": peer, "state": "Dead" if peer in dead else "Active"}
            for peer in range(2, (self._said.get("replication_factor") or 1) + 1)
        ]
        local = {"shard_id": 0, "points_count": 0, "state": "Active"}
        return {
            "peer_id": 1,
            "shard_count": 1,
            "local_shards": [local],
            "remote_shards": copies,
            "shard_transfers": [],
        }

    def _schema(self) -> dict[str, str]:
        noted = self._path / "indexes.json"
        return dict(json.loads(noted.read_text(encoding="utf-8"))) if noted.exists() else {}

    def _index(self, said: Said) -> Any:
        name, kind = said["field_name"], said["field_schema"]
        self.shard.update(UpdateOperation.create_field_index(name, _KINDS[kind]))
        noted = self._path / "indexes.json"
        noted.write_text(json.dumps(self._schema() | {name: kind}), encoding="utf-8")
        return _DONE

    def _upsert(self, said: Said, *, half: bool) -> Any:
        points = said["points"][: len(said["points"]) // 2] if half else said["points"]
        made = [Point(_id(p["id"]), _vectors(p["vector"]), p.get("payload") or {}) for p in points]
        self.shard.update(UpdateOperation.upsert_points(made))
        return _DONE

    def _delete(self, said: Said) -> Any:
        self.shard.update(UpdateOperation.delete_points([_id(id) for id in said["points"]]))
        return _DONE

    def _retrieve(self, said: Said) -> Any:
        wanted = [_id(id) for id in said["ids"]]
        return [_record(r) for r in self.shard.retrieve(wanted, _wanted(said, "with_payload"), False)]

    def _scroll(self, said: Said) -> Any:
        offset = said.get("offset")
        request = ScrollRequest(
            limit=said.get("limit") or 10,
            offset=None if offset is None else _id(offset),
            filter=_filter(said.get("filter")),
            with_payload=_wanted(said, "with_payload"),
            with_vector=_wanted(said, "with_vector"),
        )
        records, following = self.shard.scroll(request)
        return {"points": [_record(r) for r in records], "next_page_offset": _plain(following)}

    def _count(self, said: Said) -> Any:
        request = CountRequest(exact=said.get("exact", True), filter=_filter(said.get("filter")))
        return {"count": self.shard.count(request)}

    def _query_batch(self, said: Said) -> Any:
        requests = [
            QueryRequest(
                limit=one["limit"],
                query=Query.Nearest(_vector(one["query"]["nearest"]), using=one.get("using") or ""),
                filter=_filter(one.get("filter")),
                with_payload=_wanted(one, "with_payload"),
            )
            for one in said["searches"]
        ]
        answers = self.shard.query_batch(QueryBatchRequest(requests))
        return [
            {"points": [{"id": _plain(p.id), "version": 0, "score": p.score} for p in answer]}
            for answer in answers
        ]


_DONE = {"operation_id": 0, "status": "completed"}


def _set_modifiers(file: Path, sparse: Mapping[str, Any]) -> None:
    config = json.loads(file.read_text(encoding="utf-8"))
    held = config.get("config", {}).get("sparse_vector_data") or config.get("sparse_vectors") or {}
    for name, one in held.items():
        one.pop("modifier", None)
        if sparse.get(name, {}).get("modifier") == "idf":
            one["modifier"] = "idf"
    file.write_text(json.dumps(config), encoding="utf-8")


def _config(said: Said) -> EdgeConfig:
    dense = said.get("vectors") or {}
    vectors = (
        EdgeVectorParams(size=dense["size"], distance=_DISTANCES[dense["distance"]])
        if "size" in dense
        else {
            name: EdgeVectorParams(size=one["size"], distance=_DISTANCES[one["distance"]])
            for name, one in dense.items()
        }
    )
    sparse = {
        name: EdgeSparseVectorParams(modifier=Modifier.Idf if one.get("modifier") == "idf" else None)
        for name, one in (said.get("sparse_vectors") or {}).items()
    }
    return EdgeConfig(vectors=vectors, sparse_vectors=sparse)


def _filter(said: Said | None) -> Filter | None:
    if not said:
        return None
    must, must_not = (said.get(key) or [] for key in ("must", "must_not"))
    return Filter(
        must=[_condition(c) for c in must] or None, must_not=[_condition(c) for c in must_not] or None
    )


def _condition(said: Said) -> FieldCondition:
    match, bounds = said.get("match"), said.get("range")
    if bounds:
        return FieldCondition(key=said["key"], range=RangeFloat(gte=bounds.get("gte"), lte=bounds.get("lte")))
    if not match:
        raise Refused(400, f"the tests' server does not know this condition: {said}")
    wanted = MatchAny(match["any"]) if "any" in match else MatchValue(match["value"])
    return FieldCondition(key=said["key"], match=wanted)


def _vectors(said: Any) -> Any:
    if isinstance(said, Mapping) and "indices" not in said:
        return {name: _vector(one) for name, one in said.items()}
    return {"": _vector(said)}


def _vector(said: Any) -> Any:
    return SparseVector(said["indices"], said["values"]) if isinstance(said, Mapping) else said


def _wanted(said: Said, key: str) -> Any:
    asked = said.get(key)
    return asked if isinstance(asked, list) else bool(asked)


def _record(record: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"id": _plain(record.id), "payload": record.payload}
    vectors = record.vector
    if isinstance(vectors, dict):
        shown = {name: _shown(one) for name, one in vectors.items()}
        made["vector"] = shown[""] if list(shown) == [""] else shown
    elif isinstance(vectors, Sequence):
        made["vector"] = list(vectors)
    return made


def _shown(vector: Any) -> Any:
    if isinstance(vector, SparseVector):
        return {"indices": list(vector.indices), "values": list(vector.values)}
    return list(vector)


def _id(said: Any) -> Any:
    return said if isinstance(said, int) else UUID(said)


def _plain(id: Any) -> Any:
    return id if id is None or isinstance(id, int) else str(id)
