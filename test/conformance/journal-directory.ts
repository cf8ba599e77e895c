import { expect } from 'chai'
import type { JournalDirectory } from '../../node/journal/journal-directory.ts'
import { errorOf } from '../support/error-of.ts'

const bytes = (text: string): Buffer => Buffer.from(text)

export interface OpenedDirectory extends AsyncDisposable {
  readonly directory: JournalDirectory
}

/** Every JournalDirectory must pass. `open` gives a new, empty one. */
export function describeJournalDirectory(name: string, open: () => Promise<OpenedDirectory>): void {
  describe(`${name}: JournalDirectory contract`, () => {
    it('lists files after they were allocated, renamed and removed', async () => {
      await using opened = await open()
      const { directory } = opened
      for (const file of ['a', 'b', 'c']) await directory.allocate(file, 16)
      await directory.rename('b', 'd')
      await directory.remove('c')
      await directory.sync()

      expect((await directory.list()).toSorted()).to.deep.equal(['a', 'd'])
    })

    it('allocates zeros of the requested size', async () => {
      await using opened = await open()
      const { directory } = opened
      await directory.allocate('a', 3_000_001)
      const file = await directory.open('a')

      const found = await file.read(0, 4_000_000)

      expect(await file.size()).to.equal(3_000_001)
      expect(found.length).to.equal(3_000_001)
      expect(found.every((byte) => byte === 0)).to.equal(true)
      await file.close()
    })

    it('writes parts one behind the other from a position', async () => {
      await using opened = await open()
      const { directory } = opened
      await directory.allocate('a', 10)
      const file = await directory.open('a')

      await file.write([bytes('ab'), bytes(''), bytes('cd')], 3)

      expect((await file.read(0, 10)).toString()).to.equal('\0\0\0abcd\0\0\0')
      expect((await file.read(4, 2)).toString()).to.equal('bc')
      await file.close()
    })

    it('writes thousands of parts', async () => {
      await using opened = await open()
      const { directory } = opened
      await directory.allocate('a', 10_000)
      const file = await directory.open('a')
      const parts = Array.from({ length: 2500 }, (_, at) => bytes(String(at).padStart(4, '0')))

      await file.write(parts, 0)

      expect((await file.read(9996, 4)).toString()).to.equal('2499')
      await file.close()
    })

    it('reads fewer bytes at the end of a file', async () => {
      await using opened = await open()
      const { directory } = opened
      await directory.allocate('a', 4)
      const file = await directory.open('a')

      expect((await file.read(2, 100)).length).to.equal(2)
      await file.close()
    })

    it('shows an open file the writes of another one', async () => {
      await using opened = await open()
      const { directory } = opened
      await directory.allocate('a', 4)
      const [writer, reader] = [await directory.open('a'), await directory.open('a')]

      await writer.write([bytes('data')], 0)

      await reader.sync()

      expect((await reader.read(0, 4)).toString()).to.equal('data')
      await writer.close()
      await reader.close()
    })

    it('fails to open a missing file', async () => {
      await using opened = await open()

      expect(await errorOf(() => opened.directory.open('a'))).to.be.instanceOf(Error)
    })
  })
}
