import { load, loadAll } from 'js-yaml'

/** A document of YAML as plain JSON, with the type that `JSON.parse` has. */
export function parseYaml(text: string) {
  return JSON.parse(JSON.stringify(load(text)))
}

/** As `parseYaml`, the list of all documents of a text. */
export function parseAllYaml(text: string) {
  return JSON.parse(JSON.stringify(loadAll(text)))
}
