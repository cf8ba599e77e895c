// What an image does without, each with its reason: whole packages of package-lock.json, and files of the others. Both
// ways to an image use this list (images/main.ts, and images/Dockerfile by means of it), and
// test/integration/images.test.ts runs what is left.

import type { Platform, Target } from './platform.ts'

export interface LeftOutPackages {
  /** By their names. */
  readonly packages: RegExp
  readonly reason: string
  /** Default: all. */
  readonly targets?: readonly Target[]
}

export interface LeftOutFiles {
  /** The package that has the files. Default: any. */
  readonly within?: string
  /** By their paths from the directory of the package. */
  readonly files: RegExp
  readonly reason: string
}

export const LEFT_OUT_PACKAGES: readonly LeftOutPackages[] = [
  {
    packages: /^onnxruntime-/,
    reason: 'runs models, which nodes and the operator leave to an inference server',
    targets: ['node'],
  },
  {
    packages: /^node-(?:bin-)?(?:darwin|linux|win)/,
    reason: 'Node has a layer of its own, without headers and manuals',
  },
  {
    packages: /^faiss-node$/,
    reason: 'has no prebuilt binary; vector indexes use usearch where it is absent',
  },
  { packages: /^bare-/, reason: 'stands in for modules of Node in another runtime' },
  { packages: /^node-addon-api$/, reason: 'headers for a compiler' },
  { packages: /^@types\//, reason: 'describes other packages to a compiler' },
  {
    packages: /^web-streams-polyfill$/,
    reason: 'stands in for streams that Node has had since version 18',
  },
]

export function leftOutFiles({ cpu }: Platform): readonly LeftOutFiles[] {
  return [
    { files: /\.map$/, reason: 'source maps' },
    {
      files: /\.(?:[cm]?ts|tsx|flow|tsbuildinfo)$/,
      reason: 'types and sources: Node runs no TypeScript of a package',
    },
    {
      files: /^(?!.*(?:licen[cs]e|notice|copying)).*\.(?:md|markdown)$/i,
      reason: 'documents, but for licences',
    },
    {
      files: /(?:^|\/)(?:tests?|__tests__|__fixtures__|benchmarks?|examples?|\.github)\//,
      reason: 'tests, benchmarks and examples',
    },
    {
      files: new RegExp(`^prebuilds/(?!linux-${cpu}/)|\\.musl\\.node$`),
      reason: 'binaries for other platforms',
    },
    {
      within: 'onnxruntime-node',
      files: new RegExp(`^bin/napi-v\\d+/(?!linux/${cpu}/)|^script/`),
      reason: 'binaries for other platforms, and what downloads more of them',
    },
    {
      files: /\.(?:h|hh|hpp|c|cc|cpp|gypi?|cmake|rs)$/,
      reason: 'sources of binaries, for a compiler',
    },
    {
      within: '@kubernetes/client-node',
      files: /^dist\/gen\/(?:apis|models|types)\//,
      reason: 'classes of all kinds: the operator takes objects as they are (decision 0186)',
    },
    {
      within: 'usearch',
      files: /^(?:c|cmake|cpp|include|numkong)\//,
      reason: 'sources of the binary, and how they are built',
    },
    {
      within: 'classic-level',
      files: /^deps\//,
      reason: 'sources of the binary, and how they are built',
    },
    {
      within: 'pdfjs-dist',
      files: /^(?:build|web|image_decoders|types|legacy\/(?:web|image_decoders)|webpack\.mjs)/,
      reason: 'builds for browsers: legacy/build is imported',
    },
    {
      within: 'pdfjs-dist',
      files: /^legacy\/build\/(?:pdf\.sandbox|.*\.min)\.mjs$/,
      reason: 'runs scripts of forms, and shortened copies',
    },
    {
      within: 'swagger-ui-dist',
      files: /^(?!package\.json$|LICENSE|NOTICE|swagger-ui\.css$|swagger-ui-bundle\.js)/,
      reason: 'the page of a contract has one bundle and one style sheet',
    },
    { files: /^dist-es\//, reason: 'builds for bundlers: Node imports dist-cjs' },
    { within: 'js-yaml', files: /^dist\/browser\//, reason: 'a build for browsers' },
    { within: 'csv-parse', files: /^dist\/(?:umd|iife)\//, reason: 'builds for browsers' },
    { within: 'linkedom', files: /^worker\.js$/, reason: 'a build for browsers' },
    { within: 'protobufjs', files: /^dist\//, reason: 'builds for browsers' },
  ]
}
