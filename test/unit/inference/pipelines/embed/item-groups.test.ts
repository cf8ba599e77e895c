import { expect } from 'chai'
import type { EmbedItem } from '../../../../../inference/pipelines/embed/embed-item.ts'
import {
  IMAGE_BYTES_HELD_MAX,
  readItemGroups,
} from '../../../../../inference/pipelines/embed/item-groups.ts'

/** The sizes of the groups, and how many images had been read when each was handed out. */
async function groupsOf(sizes: readonly number[]): Promise<{ sizes: number[]; read: number[] }> {
  const groups: { sizes: number[]; read: number[] } = { sizes: [], read: [] }
  const numbers: (number | undefined)[] = []
  let readCount = 0
  const read = async (size: number): Promise<EmbedItem> => {
    const bytes = new Uint8Array(size)
    bytes[0] = readCount
    readCount += 1
    return { kind: 'image', bytes }
  }
  for await (const items of readItemGroups(sizes, read)) {
    groups.sizes.push(items.length)
    groups.read.push(readCount)
    numbers.push(...items.map((item) => (item.kind === 'image' ? item.bytes[0] : undefined)))
  }
  expect(numbers).to.deep.equal([...sizes.keys()])
  return groups
}

describe('readItemGroups', () => {
  it('yields large images before it reads others', async () => {
    const large = Array.from({ length: 6 }, () => IMAGE_BYTES_HELD_MAX / 4 + 1)

    expect(await groupsOf(large)).to.deep.equal({ sizes: [4, 2], read: [4, 6] })
  })

  it('reads all items of a request whose images are small', async () => {
    const small = Array.from({ length: 40 }, () => 1_000)

    expect(await groupsOf(small)).to.deep.equal({ sizes: [40], read: [40] })
  })
})
