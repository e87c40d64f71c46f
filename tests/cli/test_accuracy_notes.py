"""What is published about a run's formats stands beside its figures, marked as not simulated."""

import json

from socsim.result import load

SPARSE = ("lunar-lake-268v", "-d", "npu", "--set", "workload.deployment.sparsity={pattern: '2:4'}")
OWN = """\
id,technique,sparsity,metric,value,unit,baseline,baseline_value,effect,source
a,N:M sparsity,2:4,perplexity,9.5,,dense,8,on our texts,"Our paper, 2026"
"""
NOTE = "published, not simulated: N:M sparsity: perplexity 9.5 (dense: 8); on our texts"


def test_a_table_of_ones_own_replaces_the_shipped_one(cli, tmp_path):
    (tmp_path / "own.csv").write_text(OWN)
    done = cli("run", *SPARSE, "--accuracy", str(tmp_path / "own.csv"), "-o", str(tmp_path / "run"), "--json")
    (note,) = json.loads(done.out)["accuracy_notes"]
    assert (note["technique"], note["metric"], note["value"]) == ("N:M sparsity", "perplexity", 9.5)
    assert (note["baseline_value"], note["source"]) == (8.0, "Our paper, 2026")
    assert [dict(one) for one in load(tmp_path / "run").accuracy_notes] == [note]
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "published, not simulated" in page
    assert "Our paper, 2026" in page


def test_a_terminal_shows_three_lines_at_most(cli, tmp_path):
    done = cli("run", *SPARSE, "--no-report", "-o", str(tmp_path / "run"))
    assert done.out.count("published, not simulated") == 3
    (tmp_path / "own.csv").write_text(OWN)
    done = cli("run", *SPARSE, "--no-report", "-o", str(tmp_path / "run"), "--accuracy", str(tmp_path / "own.csv"))
    assert NOTE in " ".join(done.out.split())


def test_a_bad_table_is_told_before_anything_is_simulated(cli, tmp_path):
    (tmp_path / "own.csv").write_text("id,technique\na,b\n")
    done = cli("run", *SPARSE, "--accuracy", str(tmp_path / "own.csv"), "-o", str(tmp_path / "run"))
    assert done.code == 2
    assert "own.csv:1" in done.err
    assert not (tmp_path / "run").exists()
