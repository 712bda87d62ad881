# SPDX-License-Identifier: MIT
"""The manifest and the Helm chart: read by the tools of those who use them; and what they say is what the program understands."""

import re
import tarfile

import pytest
from released import VERSION, needed, said
from server import BUILD

from release import kubernetes  # found by released


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return kubernetes.write(tmp_path_factory.mktemp("kubernetes"))


def test_the_manifest_is_valid(made):
    text = made[0].read_text()
    assert f"image: skua:{VERSION}" in text and text.count("kind: ") == 4
    assert "ERROR" not in said([needed("kubectl-validate"), made[0]])


def test_a_wrong_manifest_is_not(made, tmp_path):
    """The check can fail."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(made[0].read_text().replace("replicas: 3", "replicas: three"))
    with pytest.raises(AssertionError, match="replicas"):
        said([needed("kubectl-validate"), wrong])


def test_helm_lints_the_chart(made):
    assert "0 chart(s) failed" in said([needed("helm"), "lint", "--strict", made[1]])


VALUES = {
    "as it is": [],
    "one replica": ["--set", "replicas=1"],
    "a volume": ["--set", "volume.persistentVolumeClaim.claimName=site"],
    "another image": ["--set", "image.repository=example.org/skua", "--set", "image.tag=1"],
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_the_chart_makes_valid_manifests(made, tmp_path, values):
    rendered = tmp_path / "rendered.yaml"
    rendered.write_text(said([needed("helm"), "template", "site", made[1], *values]))
    assert "kind: Deployment" in rendered.read_text()
    assert "ERROR" not in said([needed("kubectl-validate"), rendered])


def configuration(text, start):
    """The configuration in a manifest or in the chart's values."""
    lines = text[text.index(start):].splitlines()[1:]
    indent = len(lines[0]) - len(lines[0].lstrip())
    held = [line[indent:] for line in lines]
    end = next(i for i, line in enumerate(lines) if line.strip() and len(line) - len(line.lstrip()) < indent)
    return "\n".join(held[:end]) + "\n"


@pytest.mark.parametrize("which", ["manifest", "chart"])
def test_the_program_understands_the_configuration(made, tmp_path, which):
    if which == "manifest":
        text = configuration(made[0].read_text(), "skua.conf: |")
    else:
        with tarfile.open(made[1]) as chart:
            text = configuration(chart.extractfile("skua/values.yaml").read().decode(), "configuration: |")
    (tmp_path / "www").mkdir()
    assert "listen :8080" in text and "status :9100" in text
    (tmp_path / "skua.conf").write_text(re.sub("/srv/www", str(tmp_path / "www"), text))
    assert "no fault" in said([BUILD / "skua", "check", "-c", tmp_path / "skua.conf"]).lower()
