// Opens the parts of a runner in the process of the test, with real graphs and a real tokenizer.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../../lib/clock.ts'
import type { ModelSpec } from '../../../inference/models/model-spec.ts'
import type { ItemOutcome, RunnerParts } from '../../../inference/pipelines/model-runner.ts'
import { openOnnxSession } from '../../../inference/runtime/onnx-session.ts'
import { openTokenizer } from '../../../inference/text/tokenizer-handle.ts'
import { TINY_TOKENIZER_CONFIG, tinyTokenizer, writeModelDirectory } from './model-directories.ts'
import type { ModelFile } from './model-directories.ts'

/** What the specs of all kinds share; runners look at `maxTokens` alone. */
export const SPEC_BASE = {
  name: 'tiny',
  directory: '',
  variant: 'f32',
  fileBytes: 1,
  maxTokens: 512,
}

/** The model directory that the parts are opened from. */
export interface PartsOptions<Spec extends ModelSpec> {
  readonly spec: Spec
  readonly files: Readonly<Record<string, ModelFile>>
  readonly tokenizer?: object
  readonly tokenizerConfig?: object
}

/** Hands the parts to `use`; their directory is gone afterwards. */
export async function withRunnerParts<Spec extends ModelSpec>(
  options: PartsOptions<Spec>,
  use: (parts: RunnerParts<Spec>) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(path.join(tmpdir(), 'quarry-runner-'))
  try {
    await writeModelDirectory(directory, options.files)
    await use({
      spec: options.spec,
      tokenizer: openTokenizer({
        tokenizerJson: JSON.stringify(options.tokenizer ?? tinyTokenizer()),
        tokenizerConfig: JSON.stringify(options.tokenizerConfig ?? TINY_TOKENIZER_CONFIG),
      }),
      clock: systemClock,
      openSession: (file) => openOnnxSession(path.join(directory, file), { threads: 1 }),
    })
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** The results of outcomes that must all be done. */
export function resultsOf<Result>(outcomes: readonly ItemOutcome<Result>[]): Result[] {
  return outcomes.map((outcome) => {
    if (outcome.kind === 'done') return outcome.result
    throw new Error(`refused: ${outcome.message}`)
  })
}

export function runSignal(): AbortSignal {
  return new AbortController().signal
}
