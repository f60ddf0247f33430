/** How an artifact can be shown; everything else is only saved. */
export type PreviewKind = "image" | "table" | "markdown" | "text" | "none";

export const LARGEST_TEXT_BYTES = 512 * 1024;
const IMAGE_TYPES = new Set(["image/svg+xml", "image/png", "image/jpeg", "image/gif", "image/webp"]);
const TEXT_TYPES = new Set(["application/json", "application/xml", "application/x-ndjson", "application/toml", "application/yaml"]);

export function previewKind(mediaType: string, byteSize: number): PreviewKind {
  const type = mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (IMAGE_TYPES.has(type)) return "image";
  if (byteSize > LARGEST_TEXT_BYTES) return "none";
  if (type === "text/csv") return "table";
  if (type === "text/markdown") return "markdown";
  return type.startsWith("text/") || TEXT_TYPES.has(type) ? "text" : "none";
}
