// What is said when a model is loaded, by real workers.

import { mkdtemp, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { scanModels } from '../../inference/models/model-catalog.ts'
import { ModelFleet } from '../../inference/models/model-fleet.ts'
import type { EmbedItem } from '../../inference/pipelines/embed/embed-item.ts'
import { ModelWorker } from '../../inference/runtime/model-worker.ts'
import { must } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { isServiceError } from '../../lib/errors.ts'
import { silentLog } from '../../lib/log.ts'
import {
  tinyTokenizer,
  writeModelDirectory,
  writeTinyEmbedder,
} from '../harness/model-directories.ts'

const ENTRY = new URL('../../inference/pipelines/model-worker-entry.ts', import.meta.url)

interface LogLine {
  readonly level: 'info' | 'warn'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>> | undefined
}

describe('loading a model', () => {
  let root: string
  let fleet: ModelFleet
  let lines: LogLine[]

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-loading-'))
    lines = []
    fleet = openFleet(lines)
  })

  afterEach(async () => {
    await fleet.close()
    await rm(root, { recursive: true })
  })

  const at = (name: string): string => path.join(root, 'embedders', name)

  /** One after the other; the fleet knows a model by its spec, so all come from one scan. */
  async function embedWith(...models: readonly string[]): Promise<void> {
    const catalog = await scanModels(root, silentLog)
    for (const model of models) {
      const spec = must(catalog.find('embedder', model), 'the model')
      const item: EmbedItem = { kind: 'text', text: 'hello', truncate: true }
      await fleet.submit(spec, { item, cost: 1, group: 'text' }, { id: 1 }).promise
    }
  }

  const said = (message: string) =>
    lines.filter((line) => line.message === message).map(({ level, fields }) => ({ level, fields }))

  it('warns once of a tokenizer that differs from the reference', async () => {
    await writeTinyEmbedder(at('plain'))
    await writeTinyEmbedder(at('odd'))
    await writeModelDirectory(at('odd'), {
      'tokenizer.json': { ...tinyTokenizer(), pre_tokenizer: { type: 'Whitespace' } },
    })

    // There is room for one model alone.
    await embedWith('odd', 'plain', 'odd')

    expect(said('model loaded').map(({ fields }) => fields?.['model'])).to.deep.equal([
      'odd',
      'plain',
      'odd',
    ])
    const warnings = ['the pre-tokenizer Whitespace splits words with letters outside ASCII']
    expect(said('tokenizer may differ from the reference')).to.deep.equal([
      { level: 'warn', fields: { model: 'odd', warnings } },
    ])
  })

  const large = {
    'tokenizer.json': 64 * 1024 * 1024,
    'tokenizer_config.json': 8 * 1024 * 1024,
  }
  for (const [file, bytesMax] of Object.entries(large)) {
    it(`refuses a ${file} that is too large, before reading it`, async () => {
      await writeTinyEmbedder(at('large'))
      await truncate(path.join(at('large'), file), bytesMax + 1)

      const error = await embedWith('large').catch((caught: unknown) => caught)

      expect(isServiceError(error) && `${error.code} ${error.message}`).to.equal(
        `UNAVAILABLE model large failed to load: ${file} is larger than ${bytesMax} bytes`,
      )
    })
  }
})

function openFleet(lines: LogLine[]): ModelFleet {
  const write =
    (level: LogLine['level']) =>
    (message: string, fields?: LogLine['fields']): void =>
      void lines.push({ level, message, fields })
  const log = { ...silentLog, info: write('info'), warn: write('warn') }
  return new ModelFleet({
    workerCount: 1,
    batchLimits: { tokensMax: 512, itemsMax: 16 },
    memoryLimits: { loadedModelsMax: 1, memoryBytesMax: 2 ** 30 },
    keepAliveMs: 60_000,
    clock: systemClock,
    log,
    observer: { loaded: () => {}, batch: () => {}, waited: () => {} },
    openWorker: (listener) =>
      new ModelWorker(
        {
          entry: ENTRY,
          isolation: 'process',
          environment: process.env,
          threads: 1,
          callTimeoutMs: 15_000,
          closeDeadlineMs: 5_000,
          clock: systemClock,
          random: Math.random,
          log,
        },
        listener,
      ),
  })
}
