import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import { openDataDirectory } from '../../../../node/storage/data-directory.ts'
import type { DataDirectory } from '../../../../node/storage/data-directory.ts'
import { errorOf } from '../../../support/error-of.ts'

const MODULE = path.resolve(import.meta.dirname, '../../../../node/storage/data-directory.ts')
const CLOCK = path.resolve(import.meta.dirname, '../../../../lib/clock.ts')

/** A process that opens the data directory, says so, and holds it until it is killed. */
const HOLDER = `
  import { openDataDirectory } from ${JSON.stringify(MODULE)}
  import { systemClock } from ${JSON.stringify(CLOCK)}
  await openDataDirectory(process.argv[1], { clock: systemClock })
  process.stdout.write('held')
  setInterval(() => {}, 1000)
`

describe('the data directory', () => {
  let parent = ''
  let directory = ''
  const open = (): Promise<DataDirectory> => openDataDirectory(directory, { clock: systemClock })
  beforeEach(async () => {
    parent = await mkdtemp(path.join(tmpdir(), 'quarry-data-'))
    directory = path.join(parent, 'deep', 'data')
  })
  afterEach(() => rm(parent, { recursive: true, force: true }))

  it('is created for its owner alone, with a format file', async () => {
    await using data = await openDataDirectory(directory, {
      clock: systemClock,
      newId: () => 'the-id',
    })

    expect(data).to.include({ path: directory, id: 'the-id' })
    expect((await stat(directory)).mode & 0o777).to.equal(0o700)
    expect(await readFile(path.join(directory, 'format.json'), 'utf8')).to.equal(
      '{"format":"quarry-data","version":5,"id":"the-id","crc":"5c9ade4a"}\n',
    )
  })

  for (const version of [3, 4]) {
    it(`has the newest format at once where format ${version} needs no conversion`, async () => {
      const first = await open()
      await first.close()
      const file = path.join(directory, 'format.json')
      const old = `{"format":"quarry-data","version":${version},"id":"${first.id}"}\n`
      await writeFile(file, old)

      await using raised = await open()

      expect(raised).to.include({ formatVersion: 5, id: first.id })
      expect(JSON.parse(await readFile(file, 'utf8'))).to.include({ version: 5, id: first.id })
    })
  }

  it('refuses a format file with any bit flipped', async () => {
    await (await open()).close()
    const file = path.join(directory, 'format.json')
    const good = await readFile(file)
    // The line feed at the end says nothing.
    const bits = Array.from({ length: 8 * (good.length - 1) }, (_, bit) => bit)

    for (const bit of bits) {
      const flipped = Buffer.from(good)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      await writeFile(file, flipped)
      expect(await errorOf(open), `bit ${bit}`).to.include({ code: 'CORRUPTION' })
    }
  })

  it('reports the old format of its content until it is converted', async () => {
    const first = await open()
    await first.close()
    const file = path.join(directory, 'format.json')
    await writeFile(file, `{"format":"quarry-data","version":1,"id":"${first.id}"}\n`)

    const old = await open()
    expect(old.formatVersion).to.equal(1)
    await old.markConverted()
    await old.close()

    await using converted = await open()
    expect(converted).to.include({ formatVersion: 5, id: first.id })
  })

  for (const name of ['CURRENT', 'MANIFEST']) {
    it(`opens with a damaged ${name} in its lock`, async () => {
      const first = await open()
      await first.close()
      const lock = path.join(directory, 'lock')
      const file = (await readdir(lock)).find((one) => one.startsWith(name))
      await writeFile(path.join(lock, file ?? name), 'damaged')

      await using data = await open()

      expect(data.id).to.equal(first.id)
      expect(await errorOf(open)).to.include({ code: 'UNAVAILABLE' })
    })
  }

  it('keeps its id', async () => {
    const first = await open()
    await first.close()
    await using second = await open()

    expect(second.id).to.equal(first.id)
    expect(second.id).to.match(/^[0-9a-f-]{36}$/)
  })

  it('is refused in a directory that accepts no entries', async () => {
    for (const impossible of ['/proc/quarry', '/proc/quarry/deep', '/dev/null/data']) {
      const error = await errorOf(() => openDataDirectory(impossible, { clock: systemClock }))
      expect(error, impossible).to.include({ code: 'UNAVAILABLE' })
    }
  })

  it('is refused in words where a file stands, or below one', async () => {
    const file = path.join(parent, 'file')
    await writeFile(file, '')

    const instead = await errorOf(() => openDataDirectory(file, { clock: systemClock }))
    const below = await errorOf(() =>
      openDataDirectory(path.join(file, 'data'), { clock: systemClock }),
    )

    expect(instead).to.have.property('message').that.contains('is a file, not a directory')
    expect(below).to.have.property('message').that.contains('lies below a file')
  })

  it('accepts an empty directory, also the top of a fresh volume', async () => {
    await mkdir(path.join(directory, 'lost+found'), { recursive: true })

    await using data = await open()

    expect(data.path).to.equal(directory)
  })

  it('refuses a directory with other files and does not change it', async () => {
    await mkdir(directory, { recursive: true })
    await writeFile(path.join(directory, 'letter.txt'), '')

    const error = await errorOf(open)

    expect(error).to.include({ code: 'INVALID_ARGUMENT' })
    expect(error).to.have.property('message').that.includes('letter.txt')
    expect(await readdir(directory)).to.deep.equal(['letter.txt'])
  })

  it('continues after a crash in the middle of the first start', async () => {
    await mkdir(path.join(directory, 'lock'), { recursive: true })
    await writeFile(path.join(directory, 'format.json.new'), '{"form')

    await using data = await open()

    expect(data.id).to.match(/^[0-9a-f-]{36}$/)
  })

  const formats = {
    'a newer version': [
      '{"format":"quarry-data","version":6,"id":"x","crc":"3d8d2791"}',
      'INVALID_ARGUMENT',
    ],
    'half a file': ['{"format":"quarry-da', 'CORRUPTION'],
    'an empty file': ['', 'CORRUPTION'],
    'another format': ['{"format":"other","version":1,"id":"x"}', 'CORRUPTION'],
    'no id': ['{"format":"quarry-data","version":1,"id":""}', 'CORRUPTION'],
    'version 0': ['{"format":"quarry-data","version":0,"id":"x"}', 'CORRUPTION'],
    null: ['null', 'CORRUPTION'],
  } as const
  for (const [name, [text, code]] of Object.entries(formats)) {
    it(`refuses a format file with ${name}, and releases the lock`, async () => {
      await (await open()).close()
      const file = path.join(directory, 'format.json')
      const good = await readFile(file, 'utf8')
      await writeFile(file, text)

      expect(await errorOf(open)).to.include({ code })
      await writeFile(file, good)
      await using data = await open()
      expect(data.path).to.equal(directory)
    })
  }

  it('is refused a second time within the process', async () => {
    await using data = await open()

    expect(await errorOf(open)).to.include({ code: 'UNAVAILABLE' })
    expect(data.path).to.equal(directory)
  })

  it('is refused to a second process, and free again after the first was killed', async () => {
    const args = ['--input-type=module-typescript', '--eval', HOLDER, directory]
    const holder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(holder.stdout, 'data')
    const error = await errorOf(open)
    holder.kill('SIGKILL')
    await once(holder, 'exit')

    expect(error).to.include({
      code: 'UNAVAILABLE',
      message:
        `the data directory ${directory} is in use by another process; ` +
        'stop it or use another --data-dir',
    })
    await using data = await open()
    expect(data.path).to.equal(directory)
  })
})
