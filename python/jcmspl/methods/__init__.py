"""The methods, one file each, and the ablations of the paper: IPL, JCMSPL0 and JCMSPL1."""

from typing import TYPE_CHECKING

from jcmspl.model.registry import MODULES
from jcmspl.support.lazy import attach

_ABLATIONS = ("IPL", "JCMSPL0", "JCMSPL1")
__all__ = [*MODULES, *_ABLATIONS]

if TYPE_CHECKING:
    from jcmspl.methods.aaw import AAW as AAW
    from jcmspl.methods.ale import ALE as ALE
    from jcmspl.methods.amp import AMP as AMP
    from jcmspl.methods.bzsl import BZSL as BZSL
    from jcmspl.methods.cada_vae import CADAVAE as CADAVAE
    from jcmspl.methods.capd import CAPD as CAPD
    from jcmspl.methods.cca import CCA as CCA
    from jcmspl.methods.class_mean_ridge import ClassMeanRidge as ClassMeanRidge
    from jcmspl.methods.clswgan import CLSWGAN as CLSWGAN
    from jcmspl.methods.cnzsl import CNZSL as CNZSL
    from jcmspl.methods.conse import ConSE as ConSE
    from jcmspl.methods.cosmo import COSMO as COSMO
    from jcmspl.methods.cva import CVA as CVA
    from jcmspl.methods.dap import DAP as DAP
    from jcmspl.methods.dem import DEM as DEM
    from jcmspl.methods.devise import DeViSE as DeViSE
    from jcmspl.methods.eszsl import ESZSL as ESZSL
    from jcmspl.methods.exem import EXEM as EXEM
    from jcmspl.methods.fpl import FPL as FPL
    from jcmspl.methods.fvaegan import FVAEGAN as FVAEGAN
    from jcmspl.methods.gda import GDA as GDA
    from jcmspl.methods.gfzsl import GFZSL as GFZSL
    from jcmspl.methods.gmmn import GMMN as GMMN
    from jcmspl.methods.iap import IAP as IAP
    from jcmspl.methods.identity_ridge import IdentityRidge as IdentityRidge
    from jcmspl.methods.jcmspl import IPL as IPL
    from jcmspl.methods.jcmspl import JCMSPL as JCMSPL
    from jcmspl.methods.jcmspl import JCMSPL0 as JCMSPL0
    from jcmspl.methods.jcmspl import JCMSPL1 as JCMSPL1
    from jcmspl.methods.jlse import JLSE as JLSE
    from jcmspl.methods.lad import LAD as LAD
    from jcmspl.methods.latem import LATEM as LATEM
    from jcmspl.methods.lesae import LESAE as LESAE
    from jcmspl.methods.lesd import LESD as LESD
    from jcmspl.methods.procrustes import Procrustes as Procrustes
    from jcmspl.methods.ridge_vs import RidgeVS as RidgeVS
    from jcmspl.methods.rpl import RPL as RPL
    from jcmspl.methods.sae import SAE as SAE
    from jcmspl.methods.score import SCoRe as SCoRe
    from jcmspl.methods.semantic_softmax import SemanticSoftmax as SemanticSoftmax
    from jcmspl.methods.sje import SJE as SJE
    from jcmspl.methods.sse import SSE as SSE
    from jcmspl.methods.ssvoc import SSVoc as SSVoc
    from jcmspl.methods.sync import SynC as SynC
    from jcmspl.methods.sync_hinge import SynCHinge as SynCHinge
    from jcmspl.methods.text_prototypes import TextPrototypes as TextPrototypes
    from jcmspl.methods.untied_autoencoder import UntiedAutoencoder as UntiedAutoencoder
    from jcmspl.methods.vzsl import VZSL as VZSL
else:  # hidden from type checkers, which would take any name to be there
    _HOMES = {**MODULES, **dict.fromkeys(_ABLATIONS, "jcmspl")}
    __getattr__, __dir__ = attach(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()})
