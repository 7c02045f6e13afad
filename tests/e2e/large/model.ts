export type Shape = { kind: 'circle'; r: number } | { kind: 'rect'; w: number; h: number };
export function area(s: Shape): number { switch (s.kind) { case 'circle': return Math.PI * s.r ** 2; case 'rect': return s.w * s.h; } }
export interface Tree<T> { value: T; left?: Tree<T>; right?: Tree<T>; }
export function insert<T>(t: Tree<T> | undefined, value: T): Tree<T> {
  if (!t) return { value };
  return value < t.value ? { ...t, left: insert(t.left, value) } : { ...t, right: insert(t.right, value) };
}
