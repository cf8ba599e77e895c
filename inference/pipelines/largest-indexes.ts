/**
 * The indexes of the `count` largest values, the largest first; of equals, the lower index comes
 * first. NaN and -Infinity are left out. It makes one pass with a heap, whose root is the smallest
 * kept value.
 */
export function largestIndexes(values: Float32Array, count: number): number[] {
  const heap: number[] = []
  // Whether the value at `left` is dropped before the one at `right`.
  const isLess = (left: number, right: number): boolean => {
    const difference = (values[left] ?? 0) - (values[right] ?? 0)
    return difference < 0 || (difference === 0 && left > right)
  }
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? Number.NaN
    if (!(value > -Infinity)) continue
    if (heap.length < count) {
      heap.push(index)
      siftUp(heap, isLess)
    } else if (value > (values[heap[0] ?? 0] ?? 0)) {
      heap[0] = index
      siftDown(heap, isLess)
    }
  }
  return heap.toSorted((left, right) => (isLess(left, right) ? 1 : -1))
}

type Less = (left: number, right: number) => boolean

function siftUp(heap: number[], isLess: Less): void {
  let at = heap.length - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!isLess(heap[at] ?? 0, heap[parent] ?? 0)) return
    swap(heap, at, parent)
    at = parent
  }
}

function siftDown(heap: number[], isLess: Less): void {
  let at = 0
  for (;;) {
    let least = at
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if (child < heap.length && isLess(heap[child] ?? 0, heap[least] ?? 0)) least = child
    }
    if (least === at) return
    swap(heap, at, least)
    at = least
  }
}

function swap(heap: number[], left: number, right: number): void {
  const value = heap[left] ?? 0
  heap[left] = heap[right] ?? 0
  heap[right] = value
}
