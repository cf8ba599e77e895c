// From a spec to a loaded model, in the worker.

import path from 'node:path'
import { unreachable } from '../../lib/assert.ts'
import type { ModelInfo } from '../models/model-info.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import { threadsOf } from '../models/thread-policy.ts'
import { openOnnxSession } from '../runtime/onnx-session.ts'
import type { ServedModel } from '../runtime/worker-host.ts'
import type { WorkerSettings } from '../runtime/worker-protocol.ts'
import type { TokenizerHandle } from '../text/tokenizer-handle.ts'
import { openChunkRunner } from './chunk/chunk-runner.ts'
import { openEmbedRunner } from './embed/embed-runner.ts'
import { openGenerateRunner } from './generate/generate-runner.ts'
import type { ModelRunner, RunnerParts, StreamRunner } from './model-runner.ts'
import { readTokenizer } from './read-tokenizer.ts'
import { openRecognizeRunner } from './recognize/recognize-runner.ts'
import { openRerankRunner } from './rerank/rerank-runner.ts'
import { openRewriteRunner } from './rewrite/rewrite-runner.ts'

export async function openServedModel(
  spec: ModelSpec,
  settings: WorkerSettings,
): Promise<ServedModel> {
  const tokenizer = await readTokenizer(spec.directory)
  const info = { dimension: undefined, tokenizerWarnings: tokenizer.warnings }
  switch (spec.kind) {
    case 'embedder': {
      const runner = await openEmbedRunner(partsOf(spec, tokenizer, settings))
      return servedRunner(runner, { ...info, dimension: runner.dimension })
    }
    case 'reranker':
      return servedRunner(await openRerankRunner(partsOf(spec, tokenizer, settings)), info)
    case 'chunker':
      return servedRunner(await openChunkRunner(partsOf(spec, tokenizer, settings)), info)
    case 'recognizer':
      return servedRunner(await openRecognizeRunner(partsOf(spec, tokenizer, settings)), info)
    case 'rewriter':
      return servedRunner(await openRewriteRunner(partsOf(spec, tokenizer, settings)), info)
    case 'generator':
      return servedStream(await openGenerateRunner(partsOf(spec, tokenizer, settings)), info)
    default:
      return unreachable(spec)
  }
}

function partsOf<Spec extends ModelSpec>(
  spec: Spec,
  tokenizer: TokenizerHandle,
  settings: WorkerSettings,
): RunnerParts<Spec> {
  const threads = threadsOf(spec, settings)
  const growingShapes = spec.kind === 'generator' || spec.kind === 'rewriter'
  return {
    spec,
    tokenizer,
    openSession: (file) =>
      openOnnxSession(path.join(spec.directory, file), { threads, growingShapes }),
  }
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
