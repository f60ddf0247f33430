/** Reads comma-separated values as spreadsheets write them, up to a number of rows. */
export function parseCsv(text: string, maxRows: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let i = 0; i < text.length && rows.length < maxRows; i += 1) {
    const char = text[i];
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (text[i + 1] === '"') cell += text[(i += 1)];
      else isQuoted = false;
    } else if (char === '"') {
      isQuoted = true;
    } else if (char === ",") {
      row.push(cell);
      cell = "";
    } else if (char === "\n") {
      rows.push([...row, cell]);
      row = [];
      cell = "";
    } else if (char !== "\r") {
      cell += char;
    }
  }
  if (rows.length < maxRows && (cell !== "" || row.length > 0)) rows.push([...row, cell]);
  return rows;
}
