import type { InferenceAnswer, PodView, PoolView } from '../machines/observed/kubernetes-view.ts'

/** The pods whose inference server can be asked how it is. */
export function podsWithInference({ pods }: PoolView): readonly string[] {
  return pods
    .filter(({ inference }) => inference !== undefined && inference.problem === undefined)
    .map(({ name }) => name)
}

/** The pods with what their inference servers answered. One that was not asked is silent. */
export function withInference(
  pool: PoolView,
  answers: ReadonlyMap<string, InferenceAnswer>,
): PoolView {
  const pods = pool.pods.map((pod): PodView => {
    const answer = answers.get(pod.name)
    if (pod.inference === undefined || answer === undefined) return pod
    return { ...pod, inference: { ...pod.inference, ...answer } }
  })
  return { ...pool, pods }
}
