// A page of documentation that a test follows to the letter, as somebody does who pastes one block of shell after another.

import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { must } from '../../../lib/assert.ts'
import { helmProgram, ROOT } from './helm.ts'
import { print } from './loaded-cluster.ts'
import { outputOf } from './program.ts'
import { KUBE, type Tier } from './tier.ts'

/** What commands of a page may name of a checkout. What they write stays beside the links, and ends with them. */
const LINKED = ['bin', 'charts', 'images', 'node_modules', 'package.json']
const CHECKOUT = 'checkout'
const HEADING_OR_BLOCK = /^#+ (?<heading>.+)$|^```sh\n(?<body>[\s\S]*?)^```$/gm
const BLOCK_LIMIT_MS = 30 * 60_000

interface ShellBlock {
  /** The nearest one above the block. */
  readonly heading: string
  readonly commands: string
}

/**
 * Contract:
 * - `follow` gives the next block of the page, which has to be below this heading, to a shell of its own that ends with the
 *   first command that fails, and resolves to what was printed.
 * - After a block that failed no other one is followed.
 * - `headings` are those of the blocks that are left.
 * - The commands are those of the page. Only `kind` is another program: the Kubernetes is there already, and stays.
 */
export class FollowedPage implements AsyncDisposable {
  readonly #directory: string
  readonly #env: Readonly<Record<string, string>>
  #blocks: readonly ShellBlock[]

  private constructor(
    directory: string,
    env: Readonly<Record<string, string>>,
    blocks: readonly ShellBlock[],
  ) {
    this.#directory = directory
    this.#env = env
    this.#blocks = blocks
  }

  static async open(tier: Tier, page: string): Promise<FollowedPage> {
    const blocks = blocksIn(await readFile(path.join(ROOT, page), 'utf8'))
    const kind = kindProgram(await imageLoader(tier))
    const others = { kubectl: tier.program, helm: await helmProgram() }
    const directory = await mkdtemp(path.join(tmpdir(), 'quarry-page-'))
    const programs = path.join(directory, 'programs')
    const checkout = path.join(directory, CHECKOUT)
    await Promise.all([mkdir(programs), mkdir(checkout)])
    await writeFile(path.join(programs, 'kind'), kind, { mode: 0o755 })
    for (const [name, program] of Object.entries(others)) {
      // One that is named without a directory is found as it is.
      if (path.isAbsolute(program)) await symlink(program, path.join(programs, name))
    }
    for (const name of LINKED) await symlink(path.join(ROOT, name), path.join(checkout, name))
    const env = {
      KUBECONFIG: tier.kubeconfig,
      PATH: `${programs}:${process.env['PATH'] ?? ''}`,
    }
    return new FollowedPage(directory, env, blocks)
  }

  get headings(): readonly string[] {
    return this.#blocks.map(({ heading }) => heading)
  }

  async follow(heading: string): Promise<string> {
    const [block, ...left] = this.#blocks
    if (block?.heading !== heading) {
      throw new Error(`next is "${block?.heading ?? 'the end'}", or a block before it has failed`)
    }
    this.#blocks = []
    const begunMs = Date.now()
    const shell = ['bash', '-euo', 'pipefail', '-c', block.commands] as const
    const cwd = path.join(this.#directory, CHECKOUT)
    const printed = await outputOf(shell, { cwd, env: this.#env, limitMs: BLOCK_LIMIT_MS })
    print(`${heading}: ${Date.now() - begunMs} ms`)
    this.#blocks = left
    return printed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true })
  }
}

function blocksIn(markdown: string): readonly ShellBlock[] {
  const blocks: ShellBlock[] = []
  let heading = ''
  for (const { groups } of markdown.matchAll(HEADING_OR_BLOCK)) {
    const commands = groups?.['body']
    if (commands === undefined) heading = must(groups?.['heading'], 'a heading')
    else blocks.push({ heading, commands })
  }
  return blocks
}

/** The real kind has made a cluster that test/e2e/kube did not make, and its nodes are found by KIND_CLUSTER_NAME. */
async function imageLoader(tier: Tier): Promise<string> {
  if (tier.isOwn) return `'${path.join(KUBE, 'load-image')}'`
  const kind = await outputOf(['bash', '-c', 'command -v kind'])
  const cluster = process.env['KIND_CLUSTER_NAME'] ?? 'kind'
  return `'${kind.trim()}' load image-archive --name '${cluster}'`
}

function kindProgram(loadImage: string): string {
  return `#!/usr/bin/env bash
set -euo pipefail
case "$1 $2" in
  'create cluster' | 'delete cluster') ;;
  'load image-archive') exec ${loadImage} "$3" ;;
  *) echo "no page uses this: kind $*" >&2; exit 2 ;;
esac
`
}
