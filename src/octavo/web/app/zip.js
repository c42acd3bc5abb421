// @ts-check
/* A folder as one zip archive, so that a book of many files is sent as one. The files are stored as they are. */

/** @typedef {{path: string, file: File}} FolderFile */

const TABLE = Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});
/** UTF-8 names, made on an MS-DOS system: what every reader of zip archives knows. */
const [VERSION, UTF8, LOCAL, CENTRAL, END] = [20, 0x0800, 0x04034b50, 0x02014b50, 0x06054b50];
/** 1 January 1980: the same files always make the same archive. */
const DATE = 0x21;

/** @param {Uint8Array} bytes */
export function computeCrc(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 0xff];
  return (crc ^ 0xffffffff) >>> 0;
}

/**
 * Write numbers one after another: pairs of a value and its size in bytes.
 * @param {...[value: number, size: 2 | 4]} fields
 */
function writeFields(...fields) {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [, size]) => sum + size, 0)));
  let at = 0;
  for (const [value, size] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return new Uint8Array(view.buffer);
}

/**
 * Pack files into one archive.
 * @param {readonly FolderFile[]} files
 * @param {string} name
 */
export async function zipFolder(files, name) {
  /** @type {BlobPart[]} */
  const parts = [];
  /** @type {BlobPart[]} */
  const directory = [];
  let offset = 0;
  let length = 0;
  for (const { path, file } of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const named = new TextEncoder().encode(path);
    const bytes = new Uint8Array(await file.arrayBuffer());
    /** @type {[number, 2 | 4][]} */
    const about = [[VERSION, 2], [UTF8, 2], [0, 2], [0, 2], [DATE, 2], [computeCrc(bytes), 4], [bytes.length, 4], [bytes.length, 4], [named.length, 2], [0, 2]];
    const head = writeFields([LOCAL, 4], ...about);
    const entry = writeFields([CENTRAL, 4], [VERSION, 2], ...about, [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]);
    parts.push(head, named, file);
    directory.push(entry, named);
    offset += head.length + named.length + bytes.length;
    length += entry.length + named.length;
  }
  const end = writeFields([END, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [length, 4], [offset, 4], [0, 2]);
  return new File([...parts, ...directory, end], `${name}.zip`, { type: "application/zip" });
}

const WANTED = /\.(?:md|mdx|markdown|html?|xhtml|txt|json|ya?ml|toml|js|ts|png|jpe?g|gif|webp|svg)$/i;
const SKIPPED = /(?:^|\/)(?:\.[^/]*|node_modules|build|dist|__pycache__)(?:\/|$)/;

/**
 * Choose the files of a folder that a book is made of: text, configuration and pictures, nothing hidden or built.
 * @param {readonly FolderFile[]} files
 */
export function chooseBookFiles(files) {
  return files.filter(({ path }) => WANTED.test(path) && !SKIPPED.test(path));
}

/**
 * List the files of a folder that was dropped.
 * @param {FileSystemDirectoryEntry} folder
 * @returns {Promise<FolderFile[]>}
 */
export async function readFolder(folder, under = "") {
  const reader = folder.createReader();
  /** @type {FolderFile[]} */
  const found = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!entries.length) return found;
    for (const entry of entries) {
      const path = `${under}${entry.name}`;
      if (isFolder(entry)) found.push(...(SKIPPED.test(path) ? [] : await readFolder(entry, `${path}/`)));
      else if (isFile(entry)) found.push({ path, file: await new Promise((resolve, reject) => entry.file(resolve, reject)) });
    }
  }
}

/**
 * @param {FileSystemEntry} entry
 * @returns {entry is FileSystemDirectoryEntry}
 */
export function isFolder(entry) {
  return entry.isDirectory;
}

/**
 * @param {FileSystemEntry} entry
 * @returns {entry is FileSystemFileEntry}
 */
function isFile(entry) {
  return entry.isFile;
}
