#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh PROGRAM [ARGUMENT...]: one rank of a PyTorch program, in the trainer's environment.
# The interpreter is TRAINER_PYTHON (of the job's spec.env), else the one that tools/setup/python.sh made. Ranks of one machine
# meet on the loopback interface, and a rank uses as many threads as it was given cores.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${TRAINER_PYTHON:-$here/../../.tandem/venv-trainer/bin/python}
if [ ! -x "$python" ]; then
    echo "runtimes/pytorch: no interpreter $python: run tools/setup/python.sh, or set TRAINER_PYTHON" >&2
    exit 127
fi
case ${MASTER_ADDR:-127.0.0.1} in 127.*) export GLOO_SOCKET_IFNAME="${GLOO_SOCKET_IFNAME:-lo}" ;; esac
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-$OMP_NUM_THREADS}"
exec "$python" -u "$@"
