"""The live pipeline: a policy between a source and a sink, exactly once also over crashes."""

from shoal.pipeline.dead_letters import read_dead_letters
from shoal.pipeline.encryption import Damaged, FileCipher
from shoal.pipeline.pipe import TICK, Pipe
from shoal.pipeline.pipeline_file import PipelineFile
from shoal.pipeline.readiness import readiness

__all__ = ["TICK", "Damaged", "FileCipher", "Pipe", "PipelineFile", "read_dead_letters", "readiness"]
