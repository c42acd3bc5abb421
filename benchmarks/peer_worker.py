"""One system of `benchmarks.peers`, in the environment of that system: run by it, never by hand.

It speaks lines of JSON: `{"do": "ingest", "files": […]}`, `{"do": "query", "question": …, "k": 10}`,
`{"do": "passages"}` (Octavo alone) and `{"do": "end"}`, and answers each with its CPU seconds and what was
found. Every peer gets the weights that Octavo ships through its own hook for embeddings, and is used as its
documentation shows it, with words and vectors together where it has both. Nothing of Octavo is imported for a
peer.
"""

# mypy: ignore-errors

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
PIECES = 160


class Weights:
    """The embedder that Octavo ships: one thread, each text alone, cut at 256 word pieces, as there."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(folder / "english-int8.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(256)

    def embed(self, texts):
        import numpy as np

        found = []
        for text in texts:
            ids = np.array([self._tokenizer.encode(text).ids])
            feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
            found.append(self._session.run(["sentence_embedding"], feeds)[0][0].tolist())
        return found


def read_files(files):
    return [(Path(name).name, Path(name).read_text(encoding="utf-8")) for name in files]


def split_paragraphs(text):
    """Paragraphs, as the documentation of systems without a splitter does it."""
    return [part.strip() for part in re.split(r"\n\s*\n", text) if len(part.strip()) > 20]


def list_passages(files, passages):
    """The passages that were given as pairs of file and text, or else the paragraphs of the files."""
    return passages or [
        (source, part) for source, text in read_files(files) for part in split_paragraphs(text)
    ]


def name_of(source, text):
    return hashlib.sha256(f"{source}\x1f{text}".encode()).hexdigest()[:32]


class LangChain:
    """RecursiveCharacterTextSplitter, FAISS and BM25Retriever in an EnsembleRetriever."""

    def __init__(self, weights, data):
        from langchain_core.embeddings import Embeddings

        class Hook(Embeddings):
            def embed_documents(self, texts):
                return weights.embed(texts)

            def embed_query(self, text):
                return weights.embed([text])[0]

        self.hook, self.data, self.found = Hook(), data, None
        if (data / "index.faiss").exists():
            from langchain_community.vectorstores import FAISS

            self.store = FAISS.load_local(str(data), self.hook, allow_dangerous_deserialization=True)
            self._build()

    def ingest(self, files):
        from langchain_community.vectorstores import FAISS
        from langchain_core.documents import Document
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        splitter = RecursiveCharacterTextSplitter(chunk_size=700, chunk_overlap=70)
        documents = [
            Document(page_content=text, metadata={"source": name}) for name, text in read_files(files)
        ]
        self.store = FAISS.from_documents(splitter.split_documents(documents), self.hook)
        self.store.save_local(str(self.data))
        self._build()

    def _build(self):
        from langchain_classic.retrievers import EnsembleRetriever
        from langchain_community.retrievers import BM25Retriever

        words = BM25Retriever.from_documents(list(self.store.docstore._dict.values()), k=50)
        dense = self.store.as_retriever(search_kwargs={"k": 50})
        self.found = EnsembleRetriever(retrievers=[words, dense], weights=[0.5, 0.5])

    def query(self, question, k):
        return [(d.metadata["source"], d.page_content) for d in self.found.invoke(question)[:k]]


class LlamaIndex:
    """SentenceSplitter, VectorStoreIndex and BM25Retriever in a QueryFusionRetriever by reciprocal rank."""

    def __init__(self, weights, data):
        from llama_index.core import Settings, StorageContext, load_index_from_storage
        from llama_index.core.embeddings import BaseEmbedding
        from llama_index.core.llms import MockLLM

        class Hook(BaseEmbedding):
            def _get_text_embeddings(self, texts):
                return weights.embed(texts)

            def _get_text_embedding(self, text):
                return weights.embed([text])[0]

            def _get_query_embedding(self, query):
                return weights.embed([query])[0]

            async def _aget_query_embedding(self, query):
                return weights.embed([query])[0]

        Settings.embed_model, Settings.llm = Hook(), MockLLM()
        self.data = data
        if (data / "docstore.json").exists():
            self.index = load_index_from_storage(StorageContext.from_defaults(persist_dir=str(data)))
            self._build()

    def ingest(self, files):
        from llama_index.core import Document, VectorStoreIndex
        from llama_index.core.node_parser import SentenceSplitter

        documents = [Document(text=text, metadata={"source": name}) for name, text in read_files(files)]
        nodes = SentenceSplitter(chunk_size=PIECES, chunk_overlap=16).get_nodes_from_documents(documents)
        self.index = VectorStoreIndex(nodes)
        self.index.storage_context.persist(persist_dir=str(self.data))
        self._build()

    def _build(self):
        from llama_index.core.retrievers import QueryFusionRetriever
        from llama_index.retrievers.bm25 import BM25Retriever

        words = BM25Retriever.from_defaults(docstore=self.index.docstore, similarity_top_k=50)
        dense = self.index.as_retriever(similarity_top_k=50)
        self.found = QueryFusionRetriever(
            [words, dense], num_queries=1, similarity_top_k=50, mode="reciprocal_rerank", use_async=False
        )

    def query(self, question, k):
        found = self.found.retrieve(question)[:k]
        return [(n.node.metadata["source"], n.node.get_content()) for n in found]


class Haystack:
    """DocumentSplitter by words, BM25 and vectors in the document store in memory, joined by rank."""

    def __init__(self, weights, data):
        from haystack.document_stores.in_memory import InMemoryDocumentStore

        self.weights, self.file = weights, data / "store.json"
        if self.file.exists():
            self.store = InMemoryDocumentStore.load_from_disk(str(self.file))
            self._build()

    def ingest(self, files):
        from haystack import Document
        from haystack.components.preprocessors import DocumentSplitter
        from haystack.document_stores.in_memory import InMemoryDocumentStore

        self.store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        splitter = DocumentSplitter(split_by="word", split_length=110, split_overlap=0)
        splitter.warm_up() if hasattr(splitter, "warm_up") else None
        given = [Document(content=text, meta={"source": name}) for name, text in read_files(files)]
        made = splitter.run(documents=given)["documents"]
        vectors = self.weights.embed([document.content for document in made])
        ready = [
            Document(id=d.id, content=d.content, meta=d.meta, embedding=v)
            for d, v in zip(made, vectors, strict=True)
        ]
        self.store.write_documents(ready)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.store.save_to_disk(str(self.file))
        self._build()

    def _build(self):
        from haystack.components.joiners import DocumentJoiner
        from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever

        self.words = InMemoryBM25Retriever(self.store, top_k=50)
        self.dense = InMemoryEmbeddingRetriever(self.store, top_k=50)
        self.joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion")

    def query(self, question, k):
        words = self.words.run(query=question)["documents"]
        dense = self.dense.run(query_embedding=self.weights.embed([question])[0])["documents"]
        joined = self.joiner.run(documents=[words, dense])["documents"]
        return [(d.meta["source"], d.content) for d in joined[:k]]


class Txtai:
    """Paragraphs in Embeddings with hybrid=True, which weighs words and vectors evenly."""

    def __init__(self, weights, data):
        import numpy as np
        from txtai import Embeddings

        def transform(texts):
            return np.array(weights.embed(list(texts)), np.float32)

        self.data = data / "index"
        self.index = Embeddings(method="external", transform=transform, hybrid=True, content=True)
        if self.data.exists():
            self.index.load(str(self.data), config={"transform": transform})

    def ingest(self, files, passages=()):
        rows = [
            (name_of(source, part), {"text": part, "source": source})
            for source, part in list_passages(files, passages)
        ]
        self.index.index(rows)
        self.index.save(str(self.data))

    def query(self, question, k):
        # A question is bound as a parameter: it may have quotation marks.
        found = self.index.search(
            f"select text, source, score from txtai where similar(:q) limit {k}", parameters={"q": question}
        )
        return [(row["source"], row["text"]) for row in found]


class Chroma:
    """Paragraphs in a persistent collection: vectors alone."""

    def __init__(self, weights, data):
        import chromadb

        class Hook(chromadb.EmbeddingFunction):
            def __init__(self):
                pass

            def __call__(self, input):
                return weights.embed(list(input))

            @staticmethod
            def name():
                return "octavo-weights"

            def get_config(self):
                return {}

            @staticmethod
            def build_from_config(_):
                return Hook()

        client = chromadb.PersistentClient(path=str(data))
        space = {"hnsw:space": "cosine"}
        self.found = client.get_or_create_collection("books", embedding_function=Hook(), metadata=space)

    def ingest(self, files, passages=()):
        rows = {name_of(source, part): (source, part) for source, part in list_passages(files, passages)}
        ids = list(rows)
        for first in range(0, len(ids), 200):
            some = ids[first : first + 200]
            self.found.upsert(
                ids=some,
                documents=[rows[id_][1] for id_ in some],
                metadatas=[{"source": rows[id_][0]} for id_ in some],
            )

    def query(self, question, k):
        found = self.found.query(query_texts=[question], n_results=k)
        return [
            (meta["source"], text)
            for meta, text in zip(found["metadatas"][0], found["documents"][0], strict=True)
        ]


class Octavo:
    """The library as it is, with the models that read passages off."""

    def __init__(self, weights, data):  # noqa: ARG002
        from octavo.library import Library
        from octavo.settings import Settings

        self.loop = asyncio.new_event_loop()
        settings = Settings(data=data, local_models=False, threads=1, free_space_mb=0)
        self.opened = Library.open(settings=settings)
        self.library = self.loop.run_until_complete(self.opened.__aenter__())

    def ingest(self, files):
        folder = Path(files[0]).parent
        self.loop.run_until_complete(self.library.add(folder, title=folder.name))

    def list_passages(self):
        """Every passage with the name of its file."""

        async def read():
            records = (await self.library._context()).records
            made = [
                chunk for book in await records.list_books() for chunk in await records.list_chunks(book.id)
            ]
            return [(Path(chunk.source_file).name, chunk.content) for chunk in made]

        return self.loop.run_until_complete(read())

    def query(self, question, k):
        found = self.loop.run_until_complete(self.library.search(question, top_k=k))
        return [(Path(e.chunk.source_file).name, e.chunk.content) for e in found]


SYSTEMS = {c.__name__.lower(): c for c in (Octavo, LangChain, LlamaIndex, Haystack, Txtai, Chroma)}


def read_cpu():
    import resource

    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main(name, models, data):
    # A library may print what it likes: the answers go to the real output.
    out, sys.stdout = sys.stdout, sys.stderr
    weights = None if name == "octavo" else Weights(Path(models))
    Path(data).mkdir(parents=True, exist_ok=True)
    system = SYSTEMS[name](weights, Path(data))
    print(json.dumps({"ready": True}), file=out, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "end":
            break
        began = read_cpu()
        found = None
        if asked["do"] == "ingest":
            given = {"passages": asked["passages"]} if asked.get("passages") else {}
            found = system.ingest(asked["files"], **given)
        elif asked["do"] == "passages":
            found = system.list_passages()
        elif asked["do"] == "query":
            found = system.query(asked["question"], asked["k"])
        print(json.dumps({"seconds": read_cpu() - began, "found": found}), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
