import type { CombinedError } from "urql";

/** What went wrong, in words for the person who reads the page. */
export function explainFault(error: CombinedError): string {
  if (error.networkError !== undefined && error.response === undefined) {
    return "The server did not answer. It may be restarting; nothing that was started is lost.";
  }
  if (statusOf(error) === 413) return "That is more than one request may carry. Use fewer or smaller files.";
  const code = error.graphQLErrors[0]?.extensions["code"];
  if (code === "RATE_LIMITED") return "Too many requests in a short time. Wait a moment and try again.";
  if (code === "FORBIDDEN") return "You are signed in, but this is not open to you.";
  return error.graphQLErrors[0]?.message ?? "The server answered with an error.";
}

export function isSignedOut(error: CombinedError | undefined): boolean {
  if (error === undefined) return false;
  return statusOf(error) === 401 || error.graphQLErrors.some((fault) => fault.extensions["code"] === "UNAUTHENTICATED");
}

function statusOf(error: CombinedError): number | undefined {
  return (error.response as { status?: number } | undefined)?.status;
}
