/** Looks again and again until there is a value; fails when the time is over. */
export async function until(what, look, withinMs = 30_000) {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`within ${withinMs} ms it did not happen that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
