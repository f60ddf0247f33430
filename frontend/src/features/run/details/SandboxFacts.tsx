import { IconCheck } from "@tabler/icons-react";
import type { SandboxNetwork, SandboxTier } from "@/graphql/generated/graphql";
import { formatClock, formatMemory } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { Fact, Facts, Heading } from "./Facts";

interface Props {
  sandbox: {
    tier: SandboxTier;
    image: string;
    enforced: string[];
    expiresAt: string | null;
    network: SandboxNetwork | null;
    networkHosts?: string[];
    credentials?: string[];
    memoryBytes?: string;
    diskBytes?: string;
    pids?: number;
  } | null;
  /** The run has ended, and its sandbox with it. */
  isOver: boolean;
}

export function SandboxFacts({ sandbox, isOver }: Props) {
  const now = useNow(sandbox !== null && !isOver);
  if (sandbox === null) return null;
  const left = sandbox.expiresAt === null ? 0 : Date.parse(sandbox.expiresAt) - now;
  const limits = sandbox.enforced.filter((name) => name !== "network").map((name) => name.replaceAll("_", " "));
  return (
    <>
      <Heading>Sandbox</Heading>
      <Facts>
        <Fact name="Tier">{sandbox.tier.toLowerCase()}</Fact>
        <Fact name="Image">{sandbox.image}</Fact>
        <Fact name="Network">
          {sandbox.network?.toLowerCase() ?? (sandbox.enforced.includes("network") ? "none" : "not stated")}
          {sandbox.enforced.includes("network") && <Proven />}
        </Fact>
        <Fact name="Hosts">{sandbox.networkHosts?.join(", ")}</Fact>
        <Fact name="Credentials">{sandbox.credentials?.join(", ")}</Fact>
        <Fact name="Enforced">
          {limits.length === 0 ? (
            "no limit is proven"
          ) : (
            <>
              {limits.join(", ")}
              <Proven />
            </>
          )}
        </Fact>
        <Fact name="Memory">{sandbox.memoryBytes === undefined ? null : formatMemory(Number(sandbox.memoryBytes))}</Fact>
        <Fact name="Disk">{sandbox.diskBytes === undefined ? null : formatMemory(Number(sandbox.diskBytes))}</Fact>
        <Fact name="Processes">{sandbox.pids}</Fact>
        <Fact name="Ends in">{left > 0 && !isOver ? formatClock(left) : null}</Fact>
      </Facts>
    </>
  );
}

function Proven() {
  return (
    <span className="ok" title="The server proved it on the sandbox itself.">
      {" "}
      <IconCheck size={14} style={{ verticalAlign: -2 }} role="img" aria-label="proven" />
    </span>
  );
}
