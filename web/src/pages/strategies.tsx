import { Empty } from '../components/feedback';

export function StrategiesPage(_: { queue: string; query: URLSearchParams }) {
  return <><h1>Strategies</h1><Empty>Not available yet.</Empty></>;
}
