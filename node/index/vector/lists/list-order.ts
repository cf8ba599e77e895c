/**
 * The numbers from the least to the greatest, one by one: a search looks at the first few of thousands. The array becomes a
 * heap, whose least number is on top.
 */
export function* ascending(numbers: Float64Array): Generator<number> {
  let count = numbers.length
  for (let at = (count >>> 1) - 1; at >= 0; at -= 1) sink(numbers, at, count)
  while (count > 0) {
    const [least = 0] = numbers
    count -= 1
    numbers[0] = numbers[count] ?? 0
    sink(numbers, 0, count)
    yield least
  }
}

function sink(heap: Float64Array, from: number, count: number): void {
  const value = heap[from] ?? 0
  let at = from
  for (;;) {
    let child = at * 2 + 1
    if (child >= count) break
    if (child + 1 < count && (heap[child + 1] ?? 0) < (heap[child] ?? 0)) child += 1
    const below = heap[child] ?? 0
    if (below >= value) break
    heap[at] = below
    at = child
  }
  heap[at] = value
}
