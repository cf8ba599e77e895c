import { createInterface } from 'node:readline/promises'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { EXIT } from '../../lib/process/exit-codes.ts'
import type { Repository } from '../../inference/models/hub/hub-client.ts'
import { parseModelName, parseRevision } from '../../inference/models/hub/model-name.ts'
import { pullModel } from '../../inference/models/hub/model-pull.ts'
import type { PulledModel } from '../../inference/models/hub/model-pull.ts'
import { ModelsFolder } from '../../inference/models/hub/models-folder.ts'
import type { InstalledModel } from '../../inference/models/hub/models-folder.ts'
import { parseModelKind } from '../../inference/models/hub/kind-detection.ts'
import { isServiceError } from '../../lib/errors.ts'
import { ownCommand, shellWord } from '../../lib/own-command.ts'
import { parseModelsSettings } from '../config.ts'
import type { CliContext } from '../process/context.ts'
import { CliError, usageError } from '../process/exit.ts'
import { PullProgress } from '../models/pull-progress.ts'
import { memberOf } from '../service/service-answers.ts'
import { formatBytes, plural } from '../render/quantity.ts'
import { formatTable } from '../render/text-table.ts'
import { printable } from '../../lib/process/log-words.ts'
import { writeLine } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'
import { examples } from './client-command.ts'

type ModelKind = InstalledModel['kind']

const REVISION = 'main'

interface ModelsOptions {
  readonly modelsDir: string
  readonly json?: boolean
}

export function addModelsCommand(program: Command, context: CliContext): void {
  const models = program
    .command('models')
    .description('Get models for the inference server, list and remove them.')
    .summary('get, list and remove models')
  addPull(models, context)
  addList(models, context)
  addRemove(models, context)
}

function modelsCommand(command: Command, { env }: CliContext): Command {
  const { modelsDir } = parseModelsSettings(env)
  return command
    .option('--models-dir <dir>', 'where models live (environment: QUARRY_MODELS_DIR)', modelsDir)
    .option('--json', 'print JSON, one value per line, for programs')
}

interface PullOptions extends ModelsOptions {
  readonly variant?: string
  readonly kind?: ModelKind
  readonly endpoint: string
  readonly revision: string
  readonly ifNeeded?: boolean
}

const PULL_HELP = `
Downloads the ONNX graphs of one variant, the tokenizer and the configuration.
Each file is checked against the hub's digest, and the model appears when all
its files are complete. An interrupted pull continues where it stopped. A server
reads the models directory when it starts, so restart a running server. For
models with restricted access, put your token into HF_TOKEN; it is sent only to
the hub.

Variants: f32, f16, bf16, i8, u8, i4, q4f16 and others, or a file's own suffix,
such as quantized.
${examples(
  [
    'an embedder, with weights of 8 bits',
    ownCommand('models pull Xenova/all-MiniLM-L6-v2 --variant i8'),
  ],
  ['from another hub', ownCommand('models pull acme/ranker --endpoint https://hub.example.org')],
)}`

function addPull(models: Command, context: CliContext): void {
  const { endpoint } = parseModelsSettings(context.env)
  modelsCommand(models.command('pull <model>'), context)
    .description('Download a model, OWNER/NAME, from a hub.')
    .summary('download a model')
    .option('--variant <variant>', 'number format of the weights (default: the most exact)')
    .option('--kind <kind>', 'the task, such as embedders (default: detected)', kindOption)
    .option('--endpoint <url>', 'the hub (environment: HF_ENDPOINT)', endpoint)
    .option('--revision <revision>', 'branch, tag or commit', REVISION)
    .option('--if-needed', 'ask no hub for a model of this revision that is there already')
    .addHelpText('after', PULL_HELP)
    .action((model: string, options: PullOptions) => runPull(model, options, context))
}

function kindOption(text: string): ModelKind {
  try {
    return parseModelKind(text)
  } catch (error) {
    throw isServiceError(error) ? new InvalidArgumentError(error.message) : error
  }
}

async function runPull(model: string, options: PullOptions, context: CliContext): Promise<void> {
  const { terminal, clock, random, env } = context
  const repository = { ...parseModelName(model), revision: parseRevision(options.revision) }
  if (options.ifNeeded === true && (await isThere(repository, options))) {
    return writeLine(terminal.out, describeKept(model, options))
  }
  const stop = context.stopSignal()
  const progress = new PullProgress(terminal.err, clock)
  try {
    const pulled = await pullModel(
      {
        repository,
        hub: { endpoint: options.endpoint, token: parseModelsSettings(env).token },
        modelsDir: options.modelsDir,
        kind: options.kind,
        variant: options.variant,
      },
      { clock, random, watcher: progress },
      stop,
    )
    await progress.stop()
    await writeLine(terminal.out, describePull(model, pulled, options.json === true))
  } catch (error) {
    await progress.stop()
    throw explainPull(error, { stop, context, model, options })
  }
}

/** With any variant, unless one is asked for. */
async function isThere(
  repository: Repository,
  { modelsDir, kind, variant }: PullOptions,
): Promise<boolean> {
  const found = await new ModelsFolder(modelsDir).pulled(repository, { kind })
  return found !== undefined && (variant === undefined || found.variants.includes(variant))
}

function describeKept(model: string, { revision, json }: PullOptions): string {
  return json === true ? JSON.stringify({ model, kept: true }) : `${model}@${revision} is there`
}

function describePull(model: string, pulled: PulledModel, asJson: boolean): string {
  const { kind, variant, directory, files, bytes } = pulled
  if (asJson) return JSON.stringify({ model, kind, variant, directory, files, bytes })
  const facts = [kind, variant, plural(files, 'file'), formatBytes(bytes)]
  return `pulled ${model} (${facts.join(', ')}) into ${directory}`
}

interface EndedPull {
  readonly stop: AbortSignal
  readonly context: CliContext
  readonly model: string
  readonly options: PullOptions
}

function explainPull(error: unknown, { stop, context, model, options }: EndedPull): unknown {
  if (stop.aborted) {
    const message = `stopped; to continue, run: ${pullCommand(model, options, context)}`
    return new CliError(EXIT.refused, 'CANCELLED', message, { cause: error })
  }
  if (!isServiceError(error) || error.code !== 'UNAVAILABLE') return explainFiles(error)
  const message = `${options.endpoint}: ${error.message}`
  return new CliError(EXIT.unreachable, 'UNREACHABLE', message, { cause: error })
}

/** The pull that continues this one: with its options, without those that have their defaults. */
function pullCommand(model: string, options: PullOptions, { env }: CliContext): string {
  const usual = parseModelsSettings(env)
  const { variant, kind, revision, endpoint, modelsDir } = options
  const given = [
    ['--variant', variant, undefined],
    ['--kind', kind, undefined],
    ['--revision', revision, REVISION],
    ['--endpoint', endpoint, usual.endpoint],
    ['--models-dir', modelsDir, usual.modelsDir],
  ] as const
  const words = given.flatMap(([flag, value, unchanged]) =>
    value === undefined || value === unchanged ? [] : [flag, shellWord(value)],
  )
  return ownCommand(['models', 'pull', shellWord(model), ...words].join(' '))
}

/** Explains a refusal of the file system: no space, no permission, a file in place of a folder. */
function explainFiles(error: unknown): unknown {
  if (!(error instanceof Error) || memberOf(error, 'syscall') === undefined) return error
  const message = `the models directory cannot be used: ${error.message}`
  return new CliError(EXIT.refused, 'FILE', message, { cause: error })
}

function addList(models: Command, context: CliContext): void {
  modelsCommand(models.command('list'), context)
    .description('List the installed models.')
    .summary('list the installed models')
    .action(async ({ modelsDir, json }: ModelsOptions) => {
      const { out } = context.terminal
      const found = await listModels(modelsDir)
      if (json !== true) return writeLine(out, describeModels(found, modelsDir, out))
      for (const model of found) await writeLine(out, JSON.stringify(model))
    })
}

async function listModels(modelsDir: string): Promise<InstalledModel[]> {
  try {
    return await new ModelsFolder(modelsDir).list()
  } catch (error) {
    throw explainFiles(error)
  }
}

function describeModels(
  models: readonly InstalledModel[],
  modelsDir: string,
  screen: Output,
): string {
  if (models.length === 0) {
    return `no models in ${printable(modelsDir)} yet; get one with: ${ownCommand('models pull OWNER/NAME')}`
  }
  const columns = [
    { title: 'MODEL' },
    { title: 'KIND' },
    { title: 'VARIANTS' },
    { title: 'ON DISK', align: 'right' },
  ] as const
  const rows = models.map(({ name, kind, variants, bytes }) => [
    name,
    kind,
    variants.join(', ') || '-',
    formatBytes(bytes),
  ])
  return formatTable(columns, rows, screen)
}

interface RemoveOptions extends ModelsOptions {
  readonly kind?: ModelKind
  readonly yes?: boolean
}

function addRemove(models: Command, context: CliContext): void {
  modelsCommand(models.command('rm <model>'), context)
    .description('Remove a model with all its variants.')
    .summary('remove a model with all its variants')
    .option('--kind <kind>', 'the kind to remove, if several have the name', kindOption)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples(['in a script', ownCommand('models rm acme/ranker --yes')]))
    .action(async (name: string, options: RemoveOptions) => {
      const model = pickModel(await listModels(options.modelsDir), name, options)
      if (options.yes !== true) await confirmRemoval(model, context)
      await removeModel(options.modelsDir, model)
      const line = options.json === true ? JSON.stringify({ removed: name }) : `removed ${name}`
      await writeLine(context.terminal.out, line)
    })
}

async function removeModel(modelsDir: string, model: InstalledModel): Promise<void> {
  try {
    await new ModelsFolder(modelsDir).remove(model)
  } catch (error) {
    throw explainFiles(error)
  }
}

function pickModel(
  models: readonly InstalledModel[],
  name: string,
  { kind, modelsDir }: RemoveOptions,
): InstalledModel {
  const named = models.filter((model) => model.name === name)
  const [model, other] = named.filter((candidate) => candidate.kind === (kind ?? candidate.kind))
  if (model === undefined) {
    const message = `no model ${name} in ${modelsDir}; see the installed ones with: ${ownCommand('models list')}`
    throw new CliError(EXIT.refused, 'NOT_FOUND', message)
  }
  if (other === undefined) return model
  const kinds = named.map((candidate) => candidate.kind).join(' or ')
  throw usageError(`several models are called ${name}: add --kind ${kinds}`)
}

async function confirmRemoval(
  { name, bytes }: InstalledModel,
  { terminal }: CliContext,
): Promise<void> {
  if (!terminal.stdinIsTty || !terminal.err.isTty) {
    throw usageError(`removing ${name} cannot be undone: add --yes to confirm`)
  }
  const prompt = createInterface({ input: terminal.stdin, output: terminal.err.stream })
  try {
    const question = `Remove model ${printable(name)} (${formatBytes(bytes)})? Type its name to confirm: `
    if ((await prompt.question(question)) === name) return
  } finally {
    prompt.close()
  }
  throw new CliError(EXIT.refused, 'CANCELLED', 'nothing was removed')
}
