/** Makes and reads what a test needs, through the public API. */

export class Api {
  constructor(server) {
    this.server = server;
  }

  async query(query, variables = {}) {
    const response = await fetch(`${this.server.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${this.server.apiKey}` },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = await response.json();
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  }

  async mutate(field, inputType, selection, input) {
    const document = `mutation M($input: ${inputType}!) { ${field}(input: $input) { ${selection} userErrors { code message path } } }`;
    const payload = (await this.query(document, { input }))[field];
    if (payload.userErrors.length > 0) throw new Error(`${field}: ${JSON.stringify(payload.userErrors)}`);
    return payload;
  }

  async projectId() {
    return (await this.query("{ viewer { defaultProject { id } } }")).viewer.defaultProject.id;
  }

  /** A sandbox profile on the local runtime; `rest` is what its specification says beside the least. */
  async sandboxProfile(slug, rest) {
    const projectId = await this.projectId();
    const connections = await this.query("query C($id: ID!) { sandboxConnections(projectId: $id) { nodes { id } } }", { id: projectId });
    const spec = { connectionId: connections.sandboxConnections.nodes[0].id, image: "vitrine/code", memoryBytes: "268435456", diskBytes: "67108864", ...rest };
    const input = { projectId, slug, name: slug, publish: true, spec };
    return (await this.mutate("sandboxProfileCreate", "SandboxProfileCreateInput", "sandboxProfile { id }", input)).sandboxProfile.id;
  }

  async credential(slug, secret) {
    const input = { projectId: await this.projectId(), slug, name: slug, secret };
    return (await this.mutate("credentialCreate", "CredentialCreateInput", "credential { id }", input)).credential.id;
  }

  /** An agent that plays a scenario of the scripted model; `tools` that run code get the seeded sandbox, or `sandboxProfileId`. */
  async agent({ slug, name = slug, scenario, tools = ["note"], limits = {}, maxOutputTokens = 100_000, sandboxProfileId: wanted }) {
    const projectId = await this.projectId();
    const { model } = await this.mutate("modelCreate", "ModelCreateInput", "model { id }", {
      projectId,
      slug,
      name,
      publish: true,
      spec: {
        protocol: "OPENAI_COMPATIBLE",
        provider: "scripted",
        deployment: scenario,
        alias: "scripted",
        baseUrl: "scripted:",
        contextWindow: 1_000_000,
        maxOutputTokens,
        price: { inputPerMillionUsd: "1", outputPerMillionUsd: "2" },
      },
    });
    const needsSandbox = tools.some((tool) => tool !== "note");
    const profiles = await this.query("query P($id: ID!) { sandboxProfiles(projectId: $id) { nodes { id } } }", { id: projectId });
    const sandboxProfileId = wanted ?? (needsSandbox ? profiles.sandboxProfiles.nodes[0].id : null);
    const { agent } = await this.mutate("agentCreate", "AgentCreateInput", "agent { id }", {
      projectId,
      slug,
      name,
      publish: true,
      spec: { instructions: "Do the task.", modelId: model.id, sandboxProfileId, tools, limits },
    });
    return agent.id;
  }

  /** Starts an execution and returns its id; `rest` is what else the start call says. */
  async start(agentId, task, rest = {}) {
    const input = { agentId, task, idempotencyKey: crypto.randomUUID(), ...rest };
    return (await this.mutate("executionStart", "ExecutionStartInput", "execution { id }", input)).execution.id;
  }

  async execution(id) {
    const document = `query E($id: ID!) { execution(id: $id) { id status answer attempt lastSequence
      stopReason { code message limit iteration }
      artifacts { id name mediaType byteSize downloadUrl } } }`;
    return (await this.query(document, { id })).execution;
  }
}
