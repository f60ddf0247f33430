import type { DraftFile } from "./model/draft";

/** Text stays text, so that it can be read in the API; anything else travels as base64. */
export async function readFile(file: File): Promise<DraftFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { name: file.name, byteSize: bytes.length, content: contentOf(bytes) };
}

function contentOf(bytes: Uint8Array): DraftFile["content"] {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { contentBase64: toBase64(bytes) };
  }
}

const CHUNK = 0x8000;

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let from = 0; from < bytes.length; from += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(from, from + CHUNK));
  }
  return btoa(binary);
}
