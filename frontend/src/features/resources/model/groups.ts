import type { ResourcesQuery } from "@/graphql/generated/graphql";
import { formatMemory } from "@/lib/format";

export interface ResourceRow {
  id: string;
  name: string;
  slug: string;
  version: string;
  digest: string;
  publishedAs: string;
  createdAt: string | null;
  isArchived: boolean;
}

export interface ResourceGroup {
  title: string;
  rows: ResourceRow[];
}

interface Resource<Version> {
  id: string;
  name: string;
  slug: string;
  archivedAt: string | null;
  latestVersion: (Version & { number: number; digest: string; createdAt: string }) | null;
}

/** Five kinds of resources in one shape, each with the one line that tells its version apart. */
export function resourceGroups(data: ResourcesQuery): ResourceGroup[] {
  return [
    group("Agents", data.agents?.nodes, ({ model, tools }) => [model?.alias ?? "no model", ...tools].join(" · ")),
    group("Models", data.models?.nodes, (v) => `${v.provider} · ${v.deployment}${v.scripted ? " · scripted" : ""}`),
    group("Sandbox profiles", data.sandboxProfiles?.nodes, (v) => `${v.image} · ${formatMemory(Number(v.memoryBytes))} · network ${v.network.toLowerCase()}`),
    group("Sandbox connections", data.sandboxConnections?.nodes, (v) => `${v.tier.toLowerCase()} · ${v.baseUrl}`),
    group("Credentials", data.credentials?.nodes, () => "sealed"),
  ];
}

function group<Version>(
  title: string,
  nodes: readonly Resource<Version>[] | undefined,
  describe: (version: Version) => string,
): ResourceGroup {
  const rows = (nodes ?? []).map(({ id, name, slug, archivedAt, latestVersion }) => ({
    id,
    name,
    slug,
    version: latestVersion === null ? "not published" : `v${latestVersion.number}`,
    digest: latestVersion?.digest.replace(/^sha256:/, "").slice(0, 12) ?? "",
    publishedAs: latestVersion === null ? "" : describe(latestVersion),
    createdAt: latestVersion?.createdAt ?? null,
    isArchived: archivedAt !== null,
  }));
  return { title, rows };
}
