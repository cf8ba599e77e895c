// The package brings no types of its own.
declare module 'js-yaml' {
  /** Parses one document of YAML 1.2; throws YAMLException. */
  export function load(text: string): unknown
}
