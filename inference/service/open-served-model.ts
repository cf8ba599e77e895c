// Loads a model from its spec, in the worker.

import path from 'node:path'
import { unreachable } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { ModelInfo } from '../fleet/fleet-model.ts'
import { threadsOf } from '../fleet/thread-policy.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import { fixedShapeOf } from '../runtime/graph-feeds.ts'
import type { GraphSession } from '../runtime/graph-session.ts'
import { quantizesWhileRunning } from '../runtime/graph-scan.ts'
import { openOnnxSession } from '../runtime/onnx-session.ts'
import type { ServedModel } from '../runtime/worker-host.ts'
import type { WorkerSettings } from '../runtime/worker-protocol.ts'
import type { TokenizerHandle } from '../text/tokenizer-handle.ts'
import { openChunkRunner } from '../pipelines/chunk/chunk-runner.ts'
import { openEmbedRunner } from '../pipelines/embed/embed-runner.ts'
import { openGenerateRunner } from '../pipelines/generate/generate-runner.ts'
import type { ModelRunner, StreamRunner } from '../pipelines/model-runner.ts'
import { readTokenizer } from './read-tokenizer.ts'
import { openRecognizeRunner } from '../pipelines/recognize/recognize-runner.ts'
import { openRerankRunner } from '../pipelines/rerank/rerank-runner.ts'
import { openRewriteRunner } from '../pipelines/rewrite/rewrite-runner.ts'

/** Opens a model. A failed opening releases everything, because it may be tried again. */
export async function openServedModel(
  spec: ModelSpec,
  settings: WorkerSettings,
): Promise<ServedModel> {
  const tokenizer = await readTokenizer(spec.directory)
  checkRoom(spec, tokenizer)
  const opened: GraphSession[] = []
  try {
    return await openRunner(spec, { tokenizer, settings, opened })
  } catch (error) {
    for (const session of opened) await session.release()
    throw error
  }
}

interface Opening {
  readonly tokenizer: TokenizerHandle
  readonly settings: WorkerSettings
  /** The sessions to release if a later step fails. */
  readonly opened: GraphSession[]
}

async function openRunner(spec: ModelSpec, opening: Opening): Promise<ServedModel> {
  const { tokenizer, settings, opened } = opening
  const warnings: string[] = []
  const parts = {
    tokenizer,
    clock: systemClock,
    openSession: async (file: string): Promise<GraphSession> => {
      const session = await openGraph(spec, file, { settings, warnings })
      opened.push(session)
      return session
    },
  }
  const info = (): ModelInfo => ({
    dimension: undefined,
    rowTokens: rowTokensOf(opened),
    warnings,
    tokenizerWarnings: tokenizer.warnings,
  })
  switch (spec.kind) {
    case 'embedder': {
      const runner = await openEmbedRunner({ spec, ...parts })
      warnings.push(...runner.warnings)
      return servedRunner(runner, { ...info(), dimension: runner.dimension })
    }
    case 'reranker':
      return servedRunner(await openRerankRunner({ spec, ...parts }), info())
    case 'chunker':
      return servedRunner(await openChunkRunner({ spec, ...parts }), info())
    case 'recognizer':
      return servedRunner(await openRecognizeRunner({ spec, ...parts }), info())
    case 'rewriter':
      return servedRunner(await openRewriteRunner({ spec, ...parts }), info())
    case 'generator':
      return servedStream(await openGenerateRunner({ spec, ...parts }), info())
    default:
      return unreachable(spec)
  }
}

/** A model whose special tokens fill its input would give the same answer to every text. */
function checkRoom(spec: ModelSpec, tokenizer: TokenizerHandle): void {
  if (spec.kind === 'generator') return // templates write special tokens themselves
  const specials = tokenizer.specialCount(spec.kind === 'reranker' ? 'pair' : 'single')
  if (specials < spec.maxTokens) return
  const message = `the model takes ${spec.maxTokens} tokens, and its special tokens are ${specials}`
  throw new ServiceError('UNAVAILABLE', message)
}

async function openGraph(
  spec: ModelSpec,
  file: string,
  { settings, warnings }: { readonly settings: WorkerSettings; readonly warnings: string[] },
): Promise<GraphSession> {
  const threads = threadsOf(spec, settings)
  const growingShapes = spec.kind === 'generator' || spec.kind === 'rewriter'
  const place = path.join(spec.directory, file)
  // Generators and rewriters run one request at a time in any case.
  const isMixed = !growingShapes && (await quantizesWhileRunning(place).catch(() => false))
  if (isMixed && !settings.exactRows) warnings.push(`${file} ${MIXED_ROWS}`)
  const rowsApart = isMixed && settings.exactRows
  return openOnnxSession(place, { threads, growingShapes, rowsApart })
}

const MIXED_ROWS =
  'quantizes activations while it runs, so an answer depends a little on the other texts of its ' +
  'batch; QUARRY_INFERENCE_EXACT_ROWS=true runs rows one by one'

function rowTokensOf(sessions: readonly GraphSession[]): number | undefined {
  const fixed = sessions.map(({ inputs }) => fixedShapeOf(inputs).tokens)
  const lengths = fixed.filter((tokens) => tokens !== undefined)
  return lengths.length === 0 ? undefined : Math.max(...lengths)
}

function servedRunner<Item, Result>(
  runner: ModelRunner<Item, Result>,
  info: ModelInfo,
): ServedModel {
  return {
    info,
    run: (items, signal) => runner.run(items, signal),
    dispose: () => runner.dispose(),
  }
}

function servedStream<Request, Event, End>(
  runner: StreamRunner<Request, Event, End>,
  info: ModelInfo,
): ServedModel {
  return {
    info,
    start: (request, emit, signal) => runner.start(request, emit, signal),
    dispose: () => runner.dispose(),
  }
}
