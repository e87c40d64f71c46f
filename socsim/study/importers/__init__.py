"""Reports of benchmarks as measurement rows: llama-bench and OpenVINO's llm_bench."""
