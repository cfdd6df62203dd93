import { Empty } from '../components/feedback';

export function WorkerPage({ id }: { queue: string; id: string; query: URLSearchParams }) {
  return <><h1>Worker {id}</h1><Empty>Not available yet.</Empty></>;
}
