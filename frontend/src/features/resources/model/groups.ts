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
  warnings: readonly ResourceWarning[];
}

/** Something that its operator allowed and whoever uses it must see. */
export interface ResourceWarning {
  code: string;
  message: string;
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
    group("Sandbox profiles", data.sandboxProfiles?.nodes, profileLine),
    group("Sandbox connections", data.sandboxConnections?.nodes, connectionLine, (v) => v.warnings),
    group("Credentials", data.credentials?.nodes, () => "sealed"),
  ];
}

function group<Version>(
  title: string,
  nodes: readonly Resource<Version>[] | undefined,
  describe: (version: Version) => string,
  warningsOf: (version: Version) => readonly ResourceWarning[] = () => [],
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
    warnings: latestVersion === null ? [] : warningsOf(latestVersion),
  }));
  return { title, rows };
}

type Latest<Kind extends "sandboxProfiles" | "sandboxConnections"> = NonNullable<NonNullable<ResourcesQuery[Kind]>["nodes"][number]["latestVersion"]>;

function profileLine(v: Latest<"sandboxProfiles">): string {
  const hosts = v.networkHosts.length === 0 ? "" : ` (${v.networkHosts.join(", ")})`;
  const idle = v.idleTtlSeconds === null ? "" : `, idle ${formatSeconds(v.idleTtlSeconds)}`;
  return [
    v.image,
    formatMemory(Number(v.memoryBytes)),
    `network ${v.network.toLowerCase()}${hosts}`,
    `ends after ${formatSeconds(v.ttlSeconds)}${idle}`,
    ...(v.user === null ? [] : [`user ${v.user}`]),
    ...names("variables", v.environment),
    ...names("credentials", v.profileCredentials),
  ].join(" · ");
}

function connectionLine(v: Latest<"sandboxConnections">): string {
  if (v.tier === "LOCAL") return `local · ${v.baseUrl}`;
  return [
    v.tier.toLowerCase(),
    v.baseUrl,
    v.route.toLowerCase().replaceAll("_", " "),
    v.secureRuntime.toLowerCase(),
    `egress by ${v.egress?.toLowerCase() ?? "nothing declared"}`,
    ...(v.secureAccess ? ["a key for each sandbox"] : []),
    ...list("endpoints also at", v.endpointHosts),
    ...list("on ports", v.endpointPorts),
    ...list("below", v.endpointPaths),
  ].join(" · ");
}

function names(title: string, named: readonly { name: string }[]): string[] {
  return list(title, named.map(({ name }) => name));
}

function list(title: string, entries: readonly string[]): string[] {
  return entries.length === 0 ? [] : [`${title} ${entries.join(", ")}`];
}

function formatSeconds(seconds: number): string {
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}
