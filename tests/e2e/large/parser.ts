export function parse(text: string): number {
  const tokens = text.match(/\d+|[-+*/()]/g) ?? [];
  let at = 0;
  const factor = (): number => { const t = tokens[at++]; if (t === '(') { const v = expr(); at++; return v; } return Number(t); };
  const term = (): number => { let v = factor(); while (tokens[at] === '*' || tokens[at] === '/') v = tokens[at++] === '*' ? v * factor() : v / factor(); return v; };
  const expr = (): number => { let v = term(); while (tokens[at] === '+' || tokens[at] === '-') v = tokens[at++] === '+' ? v + term() : v - term(); return v; };
  return expr();
}
